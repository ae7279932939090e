#include "quern/plan/schedule_policy.hpp"

#include <deque>
#include <map>

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
    {"first", make_first_to_end_queues,
     "each query where it is predicted to finish first, after those already waiting there"},
    {"ding", make_stealing_queues,
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
