#include <map>
#include <set>

#include "quern/plan/schedule_policy.hpp"

namespace quern {
namespace {

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

}  // namespace

std::unique_ptr<ScheduleQueues> make_stealing_queues(const ScheduleOptions& options) {
  return std::make_unique<StealingQueues>(options);
}

}  // namespace quern
