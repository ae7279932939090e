#pragma once
#include "quern/gpu/engine/units.hpp"
#include "quern/gpu/range/threshold.cuh"

/// Scores that begin with a document's own part, its prior (alpha times PageRank), in units; and the end of a query
/// where no document from a docID on can score enough (Wang et al.: Efficient GPU-based Query Processing with Pruned
/// List Caching in Search Engines, 3.2). Ranges stand for rounds.
namespace quern::gpu {

/// Units of what a document's score begins with.
__device__ inline std::uint32_t static_score_units(const RangeView& batch, const BatchQuery& query,
                                                   std::uint32_t docid) {
  return batch.static_scores == nullptr ? 0 : units_of_score(query.scale, batch.static_scores[docid]);
}

/// What a query's documents in a range must have.
struct RangeNeed {
  Threshold threshold;
  std::uint32_t least = 1;  ///< units of their terms' parts alone
  bool ended = false;       ///< none of them is a result
};

__device__ inline RangeNeed need_of(const RangeView& batch, std::uint32_t number, std::uint32_t range,
                                    std::uint32_t begin) {
  RangeNeed need{load_threshold(batch, number)};
  need.least = max(1u, min_units(need.threshold, begin));
  if (batch.static_scores == nullptr) return need;
  const BatchQuery& query = batch.queries[number];
  if (batch.range_upper_bounds != nullptr)
    need.ended = units_of_score(query.scale, batch.range_upper_bounds[range]) < need.least;
  const std::uint32_t static_score = units_of_score(query.scale, batch.range_static_score[range]);
  need.least = need.least > static_score ? need.least - static_score : 1;
  return need;
}

}  // namespace quern::gpu
