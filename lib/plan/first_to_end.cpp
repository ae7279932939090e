#include <deque>
#include <numeric>

#include "quern/plan/query_dispatcher.hpp"

namespace quern {
namespace {

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

}  // namespace

std::unique_ptr<ScheduleQueues> make_first_to_end_queues(const ScheduleOptions& options) {
  return std::make_unique<FirstToEndQueues>(options);
}

}  // namespace quern
