#include <deque>
#include <functional>

#include "quern/core/random.hpp"
#include "quern/plan/queries_at_once.hpp"

/// Schedules that give each query to one kind of processor when it arrives, for good.
namespace quern {
namespace {

class DividedQueues final : public ScheduleQueues {
 public:
  using Choose = std::function<Processor(const WaitingQuery&)>;
  DividedQueues(const ScheduleOptions& options, Choose choose)
      : cpu_threads_(options.cpu_threads), choose_(std::move(choose)) {}

  void add(const WaitingQuery& query) override { queue_of(choose_(query)).push_back(query); }
  std::vector<WaitingQuery> take(Processor processor, double, std::size_t most) override {
    std::deque<WaitingQuery>& queue = queue_of(processor);
    const std::size_t count = queries_at_once(processor, queue.size(), most, cpu_threads_);
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

}  // namespace

std::unique_ptr<ScheduleQueues> make_cpu_queue(const ScheduleOptions& options) {
  return std::make_unique<DividedQueues>(options, [](const WaitingQuery&) { return Processor::cpu; });
}

std::unique_ptr<ScheduleQueues> make_gpu_queue(const ScheduleOptions& options) {
  return std::make_unique<DividedQueues>(options, [](const WaitingQuery&) { return Processor::gpu; });
}

std::unique_ptr<ScheduleQueues> make_block_threshold_queues(const ScheduleOptions& options) {
  return std::make_unique<DividedQueues>(options, [threshold = options.max_blocks](const WaitingQuery& query) {
    return query.blocks < threshold ? Processor::gpu : Processor::cpu;
  });
}

std::unique_ptr<ScheduleQueues> make_random_queues(const ScheduleOptions& options) {
  return std::make_unique<DividedQueues>(options, [random = RandomBits(options.seed)](const WaitingQuery&) mutable {
    return random.below(2) == 0 ? Processor::cpu : Processor::gpu;
  });
}

}  // namespace quern
