#include <algorithm>
#include <deque>
#include <numeric>

#include "quern/schedule/schedule_policy.hpp"

namespace quern {
namespace {

/// Threads of the CPU, or GPUs: what waits for them, and what they are expected to be busy with.
class Side {
 public:
  Side(Processor processor, unsigned count, double fixed_us)
      : processor_(processor), count_(std::max(count, 1u)), exists_(count > 0), fixed_us_(fixed_us) {}

  bool exists() const { return exists_; }
  bool has_idle() const { return ends_us_.size() < count_; }
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
  /// The one that arrived last, which waits longest.
  const WaitingQuery& newest() const { return queue_.back(); }
  WaitingQuery take_newest() {
    const WaitingQuery query = queue_.back();
    queue_.pop_back();
    waiting_us_ -= query.expected_us(processor_);
    return query;
  }
  void began(double now_us, const std::vector<WaitingQuery>& queries) {
    double us = fixed_us_;
    for (const WaitingQuery& query : queries) us += query.expected_us(processor_);
    ends_us_.push_back(now_us + us);
  }
  void ended() {
    if (!ends_us_.empty()) ends_us_.erase(std::min_element(ends_us_.begin(), ends_us_.end()));
  }

  /// When a query that takes so long is expected to end behind all that waits.
  double end_us(double now_us, double query_us) const {
    return std::max(start_us(now_us), now_us) + fixed_us_ + query_us;
  }

 private:
  /// When all that waits will have begun, evenly divided.
  double start_us(double now_us) const {
    const auto count = static_cast<double>(count_);
    if (queue_.empty() && has_idle()) return now_us;
    const double busy_us = std::accumulate(ends_us_.begin(), ends_us_.end(), 0.0,
                                           [&](double sum, double end) { return sum + std::max(end - now_us, 0.0); });
    return now_us + (busy_us + std::max(waiting_us_, 0.0)) / count;
  }

  Processor processor_;
  std::size_t count_;
  bool exists_;
  double fixed_us_;
  std::deque<WaitingQuery> queue_;  ///< the oldest first
  double waiting_us_ = 0;           ///< expected, of the queue
  std::vector<double> ends_us_;     ///< expected, of what runs
};

/// Each query goes where it is predicted to end first. Predictions err: a processor without work takes the query that
/// waits longest for the others, if it will probably end it sooner.
class FirstToEndQueues final : public ScheduleQueues {
 public:
  explicit FirstToEndQueues(const ScheduleOptions& options)
      : cpu_(Processor::cpu, options.cpu_threads, 0), gpu_(Processor::gpu, options.gpus, options.gpu_batch_us) {}

  void add(const WaitingQuery& query) override { first_for(query, query.arrival_us).add(query); }
  std::vector<WaitingQuery> take(Processor processor, double now_us, std::size_t most) override {
    Side& own = side(processor);
    Side& others = side(other_than(processor));
    const std::size_t count = processor == Processor::cpu ? 1 : most;
    std::vector<WaitingQuery> taken;
    while (taken.size() < count && !own.is_empty()) taken.push_back(own.take_oldest());
    if (taken.empty() && would_take_over(processor, now_us)) taken.push_back(others.take_newest());
    if (!taken.empty()) own.began(now_us, taken);
    return taken;
  }
  bool offers(Processor processor, double now_us) const override {
    return !side(processor).is_empty() || would_take_over(processor, now_us);
  }
  void ended(Processor processor) override { side(processor).ended(); }
  std::size_t size() const override { return cpu_.size() + gpu_.size(); }

 private:
  Side& side(Processor processor) { return processor == Processor::cpu ? cpu_ : gpu_; }
  const Side& side(Processor processor) const { return processor == Processor::cpu ? cpu_ : gpu_; }
  /// Whether a processor without work takes the newest of the others, who have counted it among what waits there.
  bool would_take_over(Processor processor, double now_us) const {
    const Side &own = side(processor), &others = side(other_than(processor));
    // Of the others, who is idle is about to take it.
    return !others.is_empty() && !others.has_idle() &&
           own.end_us(now_us, others.newest().expected_us(processor)) < others.end_us(now_us, 0);
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
