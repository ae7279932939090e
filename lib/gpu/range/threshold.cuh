#pragma once
#include "quern/gpu/device/warp.cuh"
#include "quern/gpu/range/range_view.cuh"

/// The k-th best of what a query has found, shared by all that look for its results: documents are counted in steps of
/// units; once the steps from one on hold k documents, nothing below that step is a result.
namespace quern::gpu {

struct Threshold {
  std::uint32_t units;  ///< no result has fewer
  std::uint32_t docid;  ///< from here on no result has just as many
};

__device__ inline Threshold threshold_of(ThresholdKey key) {
  return {static_cast<std::uint32_t>(key >> 32), 0xffffffffu - static_cast<std::uint32_t>(key)};
}
__device__ inline ThresholdKey key_of(const Threshold& threshold) {
  return ThresholdKey{threshold.units} << 32 | (0xffffffffu - threshold.docid);
}
/// As it is now; another thread block may raise it at any time.
__device__ inline Threshold load_threshold(const RangeView& batch, std::uint32_t query) {
  return threshold_of(__ldcg(batch.thresholds + query));
}
/// No document from `docid` on with fewer units is a result.
__device__ inline std::uint32_t min_units(const Threshold& threshold, std::uint32_t docid) {
  return threshold.units + (docid >= threshold.docid);
}

/// Units that an exact score is at most, rounded so that a document with the threshold's score keeps it.
__device__ inline std::uint32_t upper_units(const BatchQuery& query, float score) {
  const float units = score * query.scale;
  return query.exact_units ? static_cast<std::uint32_t>(units) : __float2uint_ru(units * (1 + 0x1p-12f)) + 1;
}

/// Keeps a document that may be a result and counts it. Call raise_threshold() afterwards.
__device__ inline void add_candidate(const RangeView& batch, const BatchQuery& query, std::uint32_t number,
                                     std::uint32_t docid, std::uint32_t units, Candidate candidate) {
  const std::uint32_t place = atomicAdd(batch.num_candidates + number, 1u);
  if (place < batch.max_candidates) batch.candidates[std::uint64_t{number} * batch.max_candidates + place] = candidate;
  std::uint32_t least = units;
  if (!query.exact_units) {
    const auto lower = static_cast<std::uint32_t>(static_cast<float>(units) * query.lower_factor);
    least = lower > query.lower_less ? lower - query.lower_less : 0;
  }
  if (least < query.min_units) return;
  // Whoever counts this document must know of its docID.
  atomicMax(batch.max_docid + number, docid);
  __threadfence();
  const std::uint32_t step = min((least - query.min_units) >> query.step_shift, threshold_steps - 1);
  atomicAdd(batch.steps + std::uint64_t{number} * threshold_steps + step, 1u);
}

/// By a whole warp: raises the threshold to what was counted.
__device__ inline void raise_threshold(const RangeView& batch, const BatchQuery& query, std::uint32_t number) {
  constexpr unsigned own_steps = threshold_steps / lanes_per_warp;
  const std::uint32_t* steps = batch.steps + std::uint64_t{number} * threshold_steps;
  // The highest steps first: lane 0 has the last ones.
  const unsigned first = threshold_steps - 1 - lane_id() * own_steps;
  std::uint32_t counts[own_steps], sum = 0;
#pragma unroll
  for (unsigned i = 0; i < own_steps; ++i) sum += counts[i] = __ldcg(steps + first - i);
  std::uint32_t above = inclusive_sum(sum) - sum;
  const unsigned full = __ballot_sync(all_lanes, above + sum >= batch.k);
  if (full == 0) return;
  __threadfence();
  if (lane_id() != __ffs(full) - 1u) return;
  unsigned step = first;
#pragma unroll
  for (unsigned i = 0; i < own_steps; ++i) {
    above += counts[i];
    if (above >= batch.k) {
      step = first - i;
      break;
    }
  }
  Threshold threshold{query.min_units + (step << query.step_shift), 0xffffffffu};
  if (query.exact_units) {
    const std::uint32_t docid = __ldcg(batch.max_docid + number);
    if (docid != 0xffffffffu) threshold.docid = docid + 1;
  }
  atomicMax(reinterpret_cast<unsigned long long*>(batch.thresholds + number), key_of(threshold));
}

}  // namespace quern::gpu
