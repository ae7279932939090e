#include "quern/plan/schedule_policy.hpp"

#include <deque>
#include <map>
#include <numeric>
#include <set>

#include "quern/core/random.hpp"
#include "quern/plan/query_dispatcher.hpp"

namespace quern {
namespace {

/// One queue, first come, first served. Only one processor works at a time (Ding et al. 2009: the better of the two).
class OneAtATimeQueue final : public ScheduleQueues {
 public:
  explicit OneAtATimeQueue(const ScheduleOptions& options) : gpu_batch_us_(options.gpu_batch_us) {}

  void add(const WaitingQuery& query) override { queue_.push_back(query); }
  std::vector<WaitingQuery> take(Processor processor, double, std::size_t) override {
    if (is_busy_ || queue_.empty() || better_for(queue_.front()) != processor) return {};
    is_busy_ = true;
    const WaitingQuery next = queue_.front();
    queue_.pop_front();
    return {next};
  }
  void ended(Processor, double) override { is_busy_ = false; }
  std::size_t size() const override { return queue_.size(); }

 private:
  Processor better_for(const WaitingQuery& query) const {
    return query.expected_cpu_us <= gpu_batch_us_ + query.expected_gpu_us ? Processor::cpu : Processor::gpu;
  }

  double gpu_batch_us_;
  std::deque<WaitingQuery> queue_;
  bool is_busy_ = false;
};

/// Assigns each query to one kind of processor on arrival.
class DividedQueues final : public ScheduleQueues {
 public:
  using Choose = std::function<Processor(const WaitingQuery&)>;
  DividedQueues(const ScheduleOptions& options, Choose choose)
      : cpu_threads_(options.cpu_threads), choose_(std::move(choose)) {}

  void add(const WaitingQuery& query) override { queue_of(choose_(query)).push_back(query); }
  std::vector<WaitingQuery> take(Processor processor, double, std::size_t max_queries) override {
    std::deque<WaitingQuery>& queue = queue_of(processor);
    const std::size_t count = queries_at_once(processor, queue.size(), max_queries, cpu_threads_);
    std::vector<WaitingQuery> taken;
    for (; taken.size() < count && !queue.empty(); queue.pop_front()) taken.push_back(queue.front());
    return taken;
  }
  std::size_t size() const override { return cpu_.size() + gpu_.size(); }

 private:
  std::deque<WaitingQuery>& queue_of(Processor processor) { return processor == Processor::cpu ? cpu_ : gpu_; }

  unsigned cpu_threads_;
  Choose choose_;
  std::deque<WaitingQuery> cpu_, gpu_;
};

/// One queue, ordered by the bytes of a query's lists that GPUs lack: GPUs take from one end, CPU threads from the
/// other (Wang et al. 2017, section 4.3). Costs are those predicted for the CPU.
class CostShareQueue final : public ScheduleQueues {
 public:
  explicit CostShareQueue(const ScheduleOptions& options) : gpu_share_(options.gpu_share) {}

  void add(const WaitingQuery& query) override {
    arrived_us_ += query.expected_cpu_us;
    queue_.emplace(std::pair(query.missing_bytes, query.number), query);
  }
  /// A GPU's batch ends when its share is used up. A processor that has used up its share steals one query at a time.
  std::vector<WaitingQuery> take(Processor processor, double, std::size_t max_queries) override {
    std::vector<WaitingQuery> taken;
    if (processor == Processor::cpu) {
      if (!queue_.empty()) taken.push_back(remove(std::prev(queue_.end())));
      return taken;
    }
    while (!queue_.empty() && taken.size() < max_queries && (taken.empty() || given_us_ < gpu_share_ * arrived_us_)) {
      taken.push_back(remove(queue_.begin()));
      given_us_ += taken.back().expected_cpu_us;
    }
    return taken;
  }
  std::size_t size() const override { return queue_.size(); }

 private:
  /// Ordered by missing bytes, then by arrival.
  using Queue = std::map<std::pair<std::uint64_t, std::uint64_t>, WaitingQuery>;

  WaitingQuery remove(Queue::iterator place) {
    const WaitingQuery query = place->second;
    queue_.erase(place);
    return query;
  }

  double gpu_share_;
  Queue queue_;
  double arrived_us_ = 0, given_us_ = 0;  ///< expected cost of all queries, and of those that GPUs took
};

/// Queries in ascending order of a fixed rank, ties by age.
using Ranking = std::set<std::pair<double, std::uint64_t>>;

/// One value per kind of processor.
template <class Value>
struct PerProcessor {
  Value cpu, gpu;
  Value& of(Processor processor) { return processor == Processor::cpu ? cpu : gpu; }
};

/// Ding et al. 2009, section 5: a queue per kind of processor with the queries that it should answer clearly faster,
/// and a third one for the others. add(), next_own() and steal() decide what the paper leaves open.
class StealingQueues final : public ScheduleQueues {
 public:
  explicit StealingQueues(const ScheduleOptions& options) : gpu_batch_us_(options.gpu_batch_us) {}

  void add(const WaitingQuery& query) override {
    Place place{query, preferred(query), is_clear(query)};
    const Processor preferred = place.preferred;
    if (place.is_clear) {
      own_.of(preferred).emplace(own_rank(query, preferred), query.number);
      stealable_.of(preferred).emplace(1 / affinity(query, preferred), query.number);
    } else {
      third_.insert(query.number);
    }
    if (query.deadline_us > 0) deadlines_.of(preferred).emplace(query.arrival_us + query.deadline_us, query.number);
    waiting_.emplace(query.number, place);
  }

  /// A GPU fills its batch from its own queue and the third one, but steals only one at a time.
  std::vector<WaitingQuery> take(Processor processor, double now_us, std::size_t max_queries) override {
    std::vector<WaitingQuery> taken;
    const std::size_t count = processor == Processor::cpu ? 1 : max_queries;
    while (taken.size() < count) {
      std::optional<std::uint64_t> next = next_urgent(processor, now_us);
      if (!next) next = next_own(processor, now_us);
      if (!next && !third_.empty()) next = *third_.begin();
      if (!next && taken.empty()) next = steal(processor);
      if (!next) break;
      taken.push_back(remove(*next));
    }
    return taken;
  }
  std::size_t size() const override { return waiting_.size(); }

 private:
  struct Place {
    WaitingQuery query;
    Processor preferred;
    bool is_clear;
  };
  /// A query belongs clearly to a processor that is faster by this factor.
  static constexpr double clearly = 1.2;
  /// A query becomes urgent once it has waited this share of its deadline.
  static constexpr double patience = 0.5;
  /// Limits the search: thousands of queries may have about the same rank.
  static constexpr std::size_t max_checked = 8;

  /// The time of a query alone, never 0.
  double cost(const WaitingQuery& query, Processor processor) const {
    constexpr double floor_us = 1e-3;
    const double fixed = processor == Processor::gpu ? gpu_batch_us_ : 0;
    return std::max(query.expected_us(processor) + fixed, floor_us);
  }
  /// A processor's time for a query divided by the other's.
  double affinity(const WaitingQuery& query, Processor processor) const {
    return cost(query, processor) / cost(query, other_than(processor));
  }
  Processor preferred(const WaitingQuery& query) const {
    return affinity(query, Processor::cpu) <= 1 ? Processor::cpu : Processor::gpu;
  }
  bool is_clear(const WaitingQuery& query) const { return clearly * affinity(query, preferred(query)) <= 1; }
  double own_rank(const WaitingQuery& query, Processor processor) const {
    return cost(query, processor) * affinity(query, processor);
  }

  /// The query with the earliest deadline, if it is urgent.
  std::optional<std::uint64_t> next_urgent(Processor processor, double now_us) {
    for (const auto& [deadline_us, number] : deadlines_.of(processor)) {
      const WaitingQuery& query = waiting_.at(number).query;
      if (now_us - query.arrival_us >= patience * query.deadline_us) return number;
      break;
    }
    return {};
  }
  /// Among the queries with the least ranks, the one with the least rank times remaining share of its deadline. At
  /// least half of it remains unless a query is urgent, so that few queries need checking.
  std::optional<std::uint64_t> next_own(Processor processor, double now_us) {
    std::optional<std::uint64_t> best;
    double least = 0;
    std::size_t checked = 0;
    for (const auto& [rank, number] : own_.of(processor)) {
      if ((best && patience * rank >= least) || ++checked > max_checked) break;
      const WaitingQuery& query = waiting_.at(number).query;
      const double waited = query.deadline_us > 0 ? (now_us - query.arrival_us) / query.deadline_us : 0;
      const double urgency = rank * std::max(1 - waited, patience);
      if (!best || urgency < least) best = number, least = urgency;
    }
    return best;
  }
  /// The other kind's query that loses least by stealing.
  std::optional<std::uint64_t> steal(Processor processor) {
    const Ranking& others = stealable_.of(other_than(processor));
    if (others.empty()) return {};
    return others.begin()->second;
  }

  WaitingQuery remove(std::uint64_t number) {
    const auto found = waiting_.find(number);
    const Place place = found->second;
    const WaitingQuery& query = place.query;
    if (place.is_clear) {
      own_.of(place.preferred).erase({own_rank(query, place.preferred), number});
      stealable_.of(place.preferred).erase({1 / affinity(query, place.preferred), number});
    } else {
      third_.erase(number);
    }
    if (query.deadline_us > 0) deadlines_.of(place.preferred).erase({query.arrival_us + query.deadline_us, number});
    waiting_.erase(found);
    return query;
  }

  double gpu_batch_us_;
  std::map<std::uint64_t, Place> waiting_;
  PerProcessor<Ranking> own_, stealable_, deadlines_;
  std::set<std::uint64_t> third_;  ///< oldest first
};

/// The CPU's threads, or the GPUs: the queries that wait for them, and when they should be free. A processor may have
/// several batches, whose fixed times pass while it works on others.
class Side {
 public:
  Side(Processor processor, unsigned count, unsigned at_a_time, double fixed_us)
      : processor_(processor),
        count_(count),
        at_a_time_(std::max(at_a_time, 1u)),
        fixed_us_(fixed_us),
        free_us_(std::max(count, 1u)) {}

  bool exists() const { return count_ > 0; }
  unsigned count() const { return count_; }
  bool has_idle() const { return running_.size() < free_us_.size() * at_a_time_; }
  bool is_empty() const { return queue_.empty(); }
  std::size_t size() const { return queue_.size(); }
  void add(const WaitingQuery& query) {
    waiting_us_ += query.expected_us(processor_);
    queue_.push_back(query);
  }
  WaitingQuery take_oldest() {
    const WaitingQuery query = queue_.front();
    queue_.pop_front();
    waiting_us_ -= query.expected_us(processor_);
    return query;
  }
  /// The query that arrived last and would wait longest.
  const WaitingQuery& newest() const { return queue_.back(); }
  WaitingQuery take_newest() {
    const WaitingQuery query = queue_.back();
    queue_.pop_back();
    waiting_us_ -= query.expected_us(processor_);
    return query;
  }
  void began(double now_us, const std::vector<WaitingQuery>& queries) {
    double us = 0;
    for (const WaitingQuery& query : queries) us += query.expected_us(processor_);
    const auto processor = std::min_element(free_us_.begin(), free_us_.end());
    *processor = std::max(now_us + fixed_us_, *processor) + us;
    running_.push_back({*processor, static_cast<std::size_t>(processor - free_us_.begin())});
  }
  /// Removes the work that was expected to end first, and shifts the same processor's other work by its error.
  void ended(double now_us) {
    if (running_.empty()) return;
    const auto first = first_to_end();
    const auto [end_us, processor] = *first;
    running_.erase(first);
    bool has_more = false;
    for (Running& running : running_) {
      if (running.processor != processor) continue;
      running.end_us += now_us - end_us;
      has_more = true;
    }
    free_us_[processor] = has_more ? free_us_[processor] + now_us - end_us : 0;
  }

  /// When a query of `query_us` is expected to end if it queues up now.
  double end_us(double now_us, double query_us) const {
    const double start_us = has_idle() ? now_us : std::max(now_us, first_to_end()->end_us);
    return std::max(start_us + fixed_us_, free_us(now_us)) + query_us;
  }

 private:
  /// Work in progress.
  struct Running {
    double end_us;  ///< expected
    std::size_t processor;
  };

  std::vector<Running>::const_iterator first_to_end() const {
    return std::min_element(running_.begin(), running_.end(),
                            [](const Running& a, const Running& b) { return a.end_us < b.end_us; });
  }
  /// When the processors will have worked off the queue, divided evenly.
  double free_us(double now_us) const {
    if (queue_.empty() && has_idle() && at_a_time_ == 1) return now_us;
    const double busy_us = std::accumulate(free_us_.begin(), free_us_.end(), 0.0,
                                           [&](double sum, double free) { return sum + std::max(free - now_us, 0.0); });
    return now_us + (busy_us + std::max(waiting_us_, 0.0)) / static_cast<double>(free_us_.size());
  }

  Processor processor_;
  unsigned count_, at_a_time_;
  double fixed_us_;
  std::deque<WaitingQuery> queue_;  ///< oldest first
  double waiting_us_ = 0;           ///< expected time of the queue
  std::vector<double> free_us_;     ///< expected, by processor; in the past if idle
  std::vector<Running> running_;
};

/// Sends each query where it should end first. Since predictions err, an idle processor takes over the query that would
/// wait longest for the others, if it will probably end sooner.
class FirstToEndQueues final : public ScheduleQueues {
 public:
  explicit FirstToEndQueues(const ScheduleOptions& options)
      : cpu_(Processor::cpu, options.cpu_threads, 1, 0),
        gpu_(Processor::gpu, options.gpus, options.gpu_batches, options.gpu_batch_us) {}

  void add(const WaitingQuery& query) override { first_for(query, query.arrival_us).add(query); }
  std::vector<WaitingQuery> take(Processor processor, double now_us, std::size_t max_queries) override {
    Side& own = side(processor);
    const std::size_t count = queries_at_once(processor, own.size(), max_queries, cpu_.count());
    std::vector<WaitingQuery> taken;
    while (taken.size() < count && !own.is_empty()) taken.push_back(own.take_oldest());
    if (taken.empty()) take_over(processor, now_us, count, taken);
    if (!taken.empty()) own.began(now_us, taken);
    return taken;
  }
  bool offers(Processor processor, double now_us) const override {
    return !side(processor).is_empty() || would_take_over(processor, now_us, 0);
  }
  void ended(Processor processor, double now_us) override { side(processor).ended(now_us); }
  std::size_t size() const override { return cpu_.size() + gpu_.size(); }

 private:
  Side& side(Processor processor) { return processor == Processor::cpu ? cpu_ : gpu_; }
  const Side& side(Processor processor) const { return processor == Processor::cpu ? cpu_ : gpu_; }
  /// Whether an idle processor that has already taken `taken_us` of work should take over the others' newest query. The
  /// others' queue includes that query.
  bool would_take_over(Processor processor, double now_us, double taken_us) const {
    const Side &own = side(processor), &others = side(other_than(processor));
    // An idle peer will take it.
    return !others.is_empty() && !others.has_idle() &&
           own.end_us(now_us, taken_us + others.newest().expected_us(processor)) < others.end_us(now_us, 0);
  }
  void take_over(Processor processor, double now_us, std::size_t max_queries, std::vector<WaitingQuery>& taken) {
    double taken_us = 0;
    while (taken.size() < max_queries && would_take_over(processor, now_us, taken_us)) {
      taken.push_back(side(other_than(processor)).take_newest());
      taken_us += taken.back().expected_us(processor);
    }
  }
  Side& first_for(const WaitingQuery& query, double now_us) {
    if (!gpu_.exists()) return cpu_;
    if (!cpu_.exists()) return gpu_;
    return cpu_.end_us(now_us, query.expected_cpu_us) <= gpu_.end_us(now_us, query.expected_gpu_us) ? cpu_ : gpu_;
  }

  Side cpu_, gpu_;
};

using QueuesPtr = std::unique_ptr<ScheduleQueues>;

template <class Queues>
QueuesPtr make_queues(const ScheduleOptions& options) {
  return std::make_unique<Queues>(options);
}

template <Processor processor>
QueuesPtr make_single(const ScheduleOptions& options) {
  return std::make_unique<DividedQueues>(options, [](const WaitingQuery&) { return processor; });
}

QueuesPtr make_block_threshold(const ScheduleOptions& options) {
  return std::make_unique<DividedQueues>(options, [threshold = options.max_blocks](const WaitingQuery& query) {
    return query.blocks < threshold ? Processor::gpu : Processor::cpu;
  });
}

QueuesPtr make_random(const ScheduleOptions& options) {
  return std::make_unique<DividedQueues>(options, [random = RandomBits(options.seed)](const WaitingQuery&) mutable {
    return random.below(2) == 0 ? Processor::cpu : Processor::gpu;
  });
}

constexpr SchedulePolicy policies[] = {
    {"first", make_queues<FirstToEndQueues>,
     "each query where it is predicted to finish first, after those already waiting there"},
    {"ding", make_queues<StealingQueues>,
     "three queues: for the CPU, for GPUs, for either; idle processors steal (Ding et al. 2009)"},
    {"lbd", make_block_threshold,
     "queries of fewer blocks than a threshold on GPUs, others on the CPU (Huang et al. 2017)"},
    {"sd", make_random, "half of the queries on each, at random (Huang et al. 2017)"},
    {"share", make_queues<CostShareQueue>,
     "GPUs get a share of the predicted costs, preferably queries whose lists they hold (Wang et al. 2017)"},
    {"better", make_queues<OneAtATimeQueue>,
     "one query at a time, each where it is predicted to take less time (Ding et al. 2009)"},
    {"cpu", make_single<Processor::cpu>, "all on the CPU"},
    {"gpu", make_single<Processor::gpu>, "all on GPUs"},
};

}  // namespace

std::span<const SchedulePolicy> all_schedule_policies() { return policies; }

const SchedulePolicy& schedule_policy_named(std::string_view name) {
  return find_named(all_schedule_policies(), name, "schedule");
}

}  // namespace quern
