#include <deque>

#include "quern/plan/schedule_policy.hpp"

namespace quern {
namespace {

/// One queue, first come, first served. While one processor works, all others are idle (Ding et al. 2009: the better of
/// the two).
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

}  // namespace

std::unique_ptr<ScheduleQueues> make_one_at_a_time_queue(const ScheduleOptions& options) {
  return std::make_unique<OneAtATimeQueue>(options);
}

}  // namespace quern
