#pragma once
#include <cstddef>
#include <string_view>

#include "quern/schedule/cost_model.hpp"
#include "quern/schedule/schedule_policy.hpp"

namespace quern {

/// How the queries of a stream are answered.
struct StreamWorkload {
  std::string_view algorithm, strategy;  ///< the strategy is that of GPUs
  std::size_t k = 10;
  std::size_t max_batch = 1;  ///< queries that a GPU answers together
};

/// What a schedule is told of a query: its features, and what it is predicted to take. It has no number and no times of
/// its own yet.
WaitingQuery predicted_query(const CostModel& costs, const QueryFeatures& features, const StreamWorkload& workload);

}  // namespace quern
