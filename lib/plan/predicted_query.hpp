#pragma once
#include <cstddef>
#include <string_view>

#include "quern/plan/cost_model.hpp"
#include "quern/plan/schedule_policy.hpp"

namespace quern {

/// How the queries of a stream are answered.
struct StreamWorkload {
  std::string_view algorithm, strategy;  ///< the strategy is that of GPUs
  std::size_t k = 10;
  std::size_t max_batch = 1;  ///< queries that a GPU answers together
};

/// What schedules are told of queries.
class QueryPredictor {
 public:
  /// The costs must outlive it, and stay where they are.
  QueryPredictor(const CostModel& costs, const StreamWorkload& workload);
  /// A query's features, and what it is predicted to take. It has no number and no times of its own yet.
  WaitingQuery predict(const QueryFeatures& features) const;
  /// Microseconds on a GPU that answers nothing else.
  double alone_us(const QueryFeatures& features) const { return alone_.us(features); }

 private:
  CostPredictor cpu_, gpu_, alone_;
};

}  // namespace quern
