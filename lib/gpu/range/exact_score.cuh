#pragma once
#include "quern/gpu/common/lookup.cuh"
#include "quern/gpu/device/tuning.hpp"
#include "quern/gpu/range/threshold.cuh"

/// Candidates scored exactly, by the CPU's operations in the CPU's order, from the lists themselves.
namespace quern::gpu {

/// A candidate that turned out to be none.
inline constexpr Candidate no_candidate = ~Candidate{0};

/// A document's parts, added in the order of summation. By a whole warp.
template <bool quantized, int V, class Decoder>
__device__ inline float exact_score(const IndexView& index, const RangeView& batch, Decoder& decoder,
                                    const BatchQuery& query, std::uint32_t docid) {
  float score = static_score_of(index, docid);
  for (std::uint32_t t = 0; t < query.terms; ++t) {
    const BatchTerm& term = batch.terms[query.first_term + t];
    std::uint32_t value = 0;
    if (find_value<quantized, V>(index, batch, decoder, batch.lists[term.list], docid, value))
      score = __fadd_rn(score, term_score<quantized>(index, term.weight, docid, value));
  }
  return score;
}

/// Makes rank keys of the candidates of a few queries, by all warps: a thread block for each query would leave most of
/// the GPU idle. What the threshold leaves out becomes no_candidate.
template <Coding coding, int V, bool quantized>
__global__ void __launch_bounds__(plain_threads)
    score_candidates(const __grid_constant__ IndexView index, const __grid_constant__ RangeView batch) {
  constexpr unsigned warps_per_block = plain_threads / lanes_per_warp;
  __shared__ std::uint32_t rooms[warps_per_block * WarpBuffer<V>::size];
  const unsigned warp = threadIdx.x / lanes_per_warp;
  typename DecoderOf<coding, V>::Type decoder(index, WarpBuffer<V>{rooms + warp * WarpBuffer<V>::size});
  const std::uint32_t own = blockIdx.x * warps_per_block + warp, warps = gridDim.x * warps_per_block;
  for (std::uint32_t number = 0; number < batch.num_queries; ++number) {
    const std::uint32_t found = batch.num_candidates[number];
    if (found > batch.max_candidates) continue;  // the query runs again
    const BatchQuery& query = batch.queries[number];
    const Threshold threshold = load_threshold(batch, number);
    // Queries begin at different warps.
    for (std::uint32_t i = (own + number * (warps / batch.num_queries)) % warps; i < found; i += warps) {
      Candidate& candidate = batch.candidates[std::uint64_t{number} * batch.max_candidates + i];
      const auto docid = static_cast<std::uint32_t>(candidate), units = static_cast<std::uint32_t>(candidate >> 32);
      Candidate key = no_candidate;
      if (units >= min_units(threshold, docid))
        key = rank_key(
            query.exact_units ? __uint2float_rn(units) : exact_score<quantized, V>(index, batch, decoder, query, docid),
            docid);
      __syncwarp();
      if (lane_id() == 0) candidate = key;
    }
  }
}

}  // namespace quern::gpu
