#pragma once
#include "quern/gpu/range/threshold.cuh"
#include "quern/gpu/engine/units.hpp"

/// Scores that begin with a document's own part, its prior (alpha times PageRank), in units; and the end of a query
/// where no document from a docID on can score enough (Wang et al.: Efficient GPU-based Query Processing with Pruned
/// List Caching in Search Engines, 3.2). Ranges stand for rounds.
namespace quern::gpu {

/// Units of what a document's score begins with.
__device__ inline std::uint32_t prior_units(const BatchView& batch, const BatchQuery& query, std::uint32_t docid) {
  return batch.priors == nullptr ? 0 : units_of_score(query.scale, batch.priors[docid]);
}

/// What a query's documents in a range must have.
struct RangeNeed {
  Threshold threshold;
  std::uint32_t least = 1;  ///< units of their terms' parts alone
  bool ended = false;       ///< none of them is a result
};

__device__ inline RangeNeed need_of(const BatchView& batch, std::uint32_t number, std::uint32_t range,
                                    std::uint32_t begin) {
  RangeNeed need{load_threshold(batch, number)};
  need.least = max(1u, least_units(need.threshold, begin));
  if (batch.priors == nullptr) return need;
  const BatchQuery& query = batch.queries[number];
  if (batch.range_ceilings != nullptr)
    need.ended = units_of_score(query.scale, batch.range_ceilings[range]) < need.least;
  const std::uint32_t prior = units_of_score(query.scale, batch.range_prior[range]);
  need.least = need.least > prior ? need.least - prior : 1;
  return need;
}

}  // namespace quern::gpu
