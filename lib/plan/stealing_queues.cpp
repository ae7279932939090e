#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "quern/plan/schedule_policy.hpp"

namespace quern {
namespace {

/// Queries by a number that does not change, least first, ties by age.
using Ranking = std::set<std::pair<double, std::uint64_t>>;

/// Of either kind of processor.
template <class Value>
struct PerProcessor {
  Value cpu, gpu;
  Value& of(Processor processor) { return processor == Processor::cpu ? cpu : gpu; }
};

/// Ding et al. 2009, section 5: a queue for each kind of processor with the queries that it is predicted to answer
/// clearly faster, and a third one for the others. What the paper leaves open is settled in add(), next_own() and
/// steal().
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

  /// A GPU fills its batch with what is its own or may be either's, but steals only one at a time.
  std::vector<WaitingQuery> take(Processor processor, double now_us, std::size_t most) override {
    std::vector<WaitingQuery> taken;
    const std::size_t count = processor == Processor::cpu ? 1 : most;
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
  /// A processor's time must be less than the other's by this factor for a query to be clearly its own.
  static constexpr double clearly = 1.2;
  /// Of its deadline, a query may wait this share before it goes first.
  static constexpr double patience = 0.5;
  /// Of queries that take about the same time there may be thousands.
  static constexpr std::size_t most_looked_at = 8;

  /// What a query alone takes, never 0.
  double cost(const WaitingQuery& query, Processor processor) const {
    constexpr double least_us = 1e-3;
    const double fixed = processor == Processor::gpu ? gpu_batch_us_ : 0;
    return std::max(query.expected_us(processor) + fixed, least_us);
  }
  /// A processor's time for a query, by the other's.
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

  /// The query with the earliest deadline, if half of its time has passed.
  std::optional<std::uint64_t> next_urgent(Processor processor, double now_us) {
    for (const auto& [deadline_us, number] : deadlines_.of(processor)) {
      const WaitingQuery& query = waiting_.at(number).query;
      if (now_us - query.arrival_us >= patience * query.deadline_us) return number;
      break;
    }
    return {};
  }
  /// The query with the least rank times the share of the deadline that is left, of those with the least ranks. Others
  /// than urgent queries have at least half of it left, so that few need to be looked at.
  std::optional<std::uint64_t> next_own(Processor processor, double now_us) {
    std::optional<std::uint64_t> best;
    double least = 0;
    std::size_t looked_at = 0;
    for (const auto& [rank, number] : own_.of(processor)) {
      if ((best && patience * rank >= least) || ++looked_at > most_looked_at) break;
      const WaitingQuery& query = waiting_.at(number).query;
      const double waited = query.deadline_us > 0 ? (now_us - query.arrival_us) / query.deadline_us : 0;
      const double urgency = rank * std::max(1 - waited, patience);
      if (!best || urgency < least) best = number, least = urgency;
    }
    return best;
  }
  /// The query of the other kind that loses least.
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
  std::set<std::uint64_t> third_;  ///< the oldest first
};

}  // namespace

std::unique_ptr<ScheduleQueues> make_stealing_queues(const ScheduleOptions& options) {
  return std::make_unique<StealingQueues>(options);
}

}  // namespace quern
