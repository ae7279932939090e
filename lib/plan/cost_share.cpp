#include <map>

#include "quern/plan/schedule_policy.hpp"

namespace quern {
namespace {

/// One queue, by what a GPU lacks of the queries' lists: GPUs take from the one end, threads of the CPU from the other
/// (Wang et al. 2017, section 4.3). Costs are those predicted for the CPU.
class CostShareQueue final : public ScheduleQueues {
 public:
  explicit CostShareQueue(const ScheduleOptions& options) : gpu_share_(options.gpu_share) {}

  void add(const WaitingQuery& query) override {
    arrived_us_ += query.expected_cpu_us;
    queue_.emplace(std::pair(query.missing_bytes, query.number), query);
  }
  /// A GPU's batch ends where its share is used up. A processor that has had its share steals one query at a time.
  std::vector<WaitingQuery> take(Processor processor, double, std::size_t most) override {
    std::vector<WaitingQuery> taken;
    if (processor == Processor::cpu) {
      if (!queue_.empty()) taken.push_back(remove(std::prev(queue_.end())));
      return taken;
    }
    while (!queue_.empty() && taken.size() < most && (taken.empty() || given_us_ < gpu_share_ * arrived_us_)) {
      taken.push_back(remove(queue_.begin()));
      given_us_ += taken.back().expected_cpu_us;
    }
    return taken;
  }
  std::size_t size() const override { return queue_.size(); }

 private:
  /// In the order of missing bytes, then of arrival.
  using Queue = std::map<std::pair<std::uint64_t, std::uint64_t>, WaitingQuery>;

  WaitingQuery remove(Queue::iterator place) {
    const WaitingQuery query = place->second;
    queue_.erase(place);
    return query;
  }

  double gpu_share_;
  Queue queue_;
  double arrived_us_ = 0, given_us_ = 0;  ///< expected costs of all queries, and of those that GPUs took
};

}  // namespace

std::unique_ptr<ScheduleQueues> make_cost_share_queue(const ScheduleOptions& options) {
  return std::make_unique<CostShareQueue>(options);
}

}  // namespace quern
