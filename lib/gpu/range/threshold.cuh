#pragma once
#include "quern/gpu/range/range_view.cuh"

/// A query's threshold, shared by all thread blocks that search for its results. Documents are counted in steps of
/// units; once k documents have reached a step, no document below that step is a result.
namespace quern::gpu {

struct QueryThreshold {
  std::uint32_t units;  ///< minimum units of a result
  std::uint32_t docid;  ///< from this docID on, a result needs more than `units`
};

__device__ inline QueryThreshold threshold_of(ThresholdKey key) {
  return {static_cast<std::uint32_t>(key >> 32), 0xffffffffu - static_cast<std::uint32_t>(key)};
}
__device__ inline ThresholdKey key_of(const QueryThreshold& threshold) {
  return ThresholdKey{threshold.units} << 32 | (0xffffffffu - threshold.docid);
}
/// The current threshold; another thread block may raise it at any time.
__device__ inline QueryThreshold load_threshold(const RangeView& batch, std::uint32_t query) {
  return threshold_of(__ldcg(batch.thresholds + query));
}
/// The minimum units of a result with this docID or a higher one.
__device__ inline std::uint32_t min_units(const QueryThreshold& threshold, std::uint32_t docid) {
  return threshold.units + (docid >= threshold.docid);
}

/// Upper bound of an exact score in units, rounded so that a document whose score equals the threshold is kept.
__device__ inline std::uint32_t upper_units(const BatchQuery& query, float score) {
  const float units = score * query.scale;
  return query.exact_units ? static_cast<std::uint32_t>(units) : __float2uint_ru(units * (1 + 0x1p-12f)) + 1;
}

/// The step in which a document with these units is counted; threshold_steps if it is not counted.
__device__ inline std::uint32_t step_of(const BatchQuery& query, std::uint32_t units) {
  std::uint32_t lower_units = units;  // lower bound of the score in units
  if (!query.exact_units) {
    const auto lower = static_cast<std::uint32_t>(static_cast<float>(units) * query.lower_factor);
    lower_units = lower > query.lower_margin ? lower - query.lower_margin : 0;
  }
  if (lower_units < query.min_units) return threshold_steps;
  return min((lower_units - query.min_units) >> query.step_shift, threshold_steps - 1);
}

/// Raises the maximum docID of the counted documents. Threads that see a document counted must also see its docID, so
/// this comes first.
__device__ inline void raise_max_docid(const RangeView& batch, std::uint32_t number, std::uint32_t docid) {
  if (docid > __ldcg(batch.max_docid + number)) atomicMax(batch.max_docid + number, docid);
  __threadfence();
}

__device__ inline void add_to_step(const RangeView& batch, std::uint32_t number, std::uint32_t step,
                                   std::uint32_t documents) {
  atomicAdd(batch.steps + std::uint64_t{number} * threshold_steps + step, documents);
}

/// Counts a document that may be a result, by which raise_threshold() raises the threshold. Each document is counted
/// once, and stored if it still reaches the threshold, so there are few candidates.
__device__ inline void count_document(const RangeView& batch, const BatchQuery& query, std::uint32_t number,
                                      std::uint32_t docid, std::uint32_t units) {
  const std::uint32_t step = step_of(query, units);
  if (step == threshold_steps) return;
  raise_max_docid(batch, number, docid);
  add_to_step(batch, number, step, 1);
}

/// Stores a counted document: among its query's candidates or, if these are full, among the spare ones.
__device__ inline void store_candidate(const RangeView& batch, std::uint32_t number, Candidate candidate) {
  const std::uint32_t place = atomicAdd(batch.num_candidates + number, 1u);
  if (place < batch.max_candidates) {
    batch.candidates[std::uint64_t{number} * batch.max_candidates + place] = candidate;
    return;
  }
  // Keeps the counter from overflowing.
  if (__ldcg(batch.num_spare()) > batch.max_spare) return;
  const std::uint32_t spare = atomicAdd(batch.num_spare(), 1u);
  if (spare < batch.max_spare) batch.spare[spare] = {candidate, number};
}

/// Raises the threshold to the highest step that k documents have reached, and returns it. Called by a whole warp.
__device__ inline QueryThreshold raise_threshold(const RangeView& batch, const BatchQuery& query,
                                                 std::uint32_t number) {
  constexpr unsigned own_steps = threshold_steps / lanes_per_warp;
  const std::uint32_t* steps = batch.steps + std::uint64_t{number} * threshold_steps;
  // Highest steps first: lane 0 reads the last ones.
  const unsigned first = threshold_steps - 1 - lane_id() * own_steps;
  std::uint32_t counts[own_steps], sum = 0;
#pragma unroll
  for (unsigned i = 0; i < own_steps; ++i) sum += counts[i] = __ldcg(steps + first - i);
  std::uint32_t above = inclusive_sum(sum) - sum;
  const unsigned full = __ballot_sync(all_lanes, above + sum >= batch.k);
  if (full == 0) return load_threshold(batch, number);
  __threadfence();
  const unsigned lane = __ffs(full) - 1u;
  ThresholdKey key = 0;
  if (lane_id() == lane) {
    unsigned step = first;
#pragma unroll
    for (unsigned i = 0; i < own_steps; ++i) {
      above += counts[i];
      if (above >= batch.k) {
        step = first - i;
        break;
      }
    }
    QueryThreshold threshold{query.min_units + (step << query.step_shift), 0xffffffffu};
    if (query.exact_units) {
      const std::uint32_t docid = __ldcg(batch.max_docid + number);
      if (docid != 0xffffffffu) threshold.docid = docid + 1;
    }
    key = key_of(threshold);
    const ThresholdKey before = atomicMax(reinterpret_cast<unsigned long long*>(batch.thresholds + number), key);
    key = max(key, before);
  }
  return threshold_of(__shfl_sync(all_lanes, key, lane));
}

/// raise_threshold() after this warp's count_document(). Not inlined, to leave registers to the many lookups before it.
__noinline__ __device__ inline QueryThreshold raise_counted(const RangeView& batch, std::uint32_t number) {
  __threadfence();
  return raise_threshold(batch, batch.queries[number], number);
}

/// Counts at most one document per lane, raises the threshold, stores documents that still reach it, and returns it. By
/// a whole warp. Not inlined, like raise_counted().
__noinline__ __device__ inline QueryThreshold take_documents(const RangeView& batch, std::uint32_t number,
                                                             bool has_document, std::uint32_t docid,
                                                             std::uint32_t units) {
  if (has_document) count_document(batch, batch.queries[number], number, docid, units);
  __threadfence();
  const QueryThreshold risen = raise_threshold(batch, batch.queries[number], number);
  if (has_document && units >= min_units(risen, docid)) store_candidate(batch, number, Candidate{units} << 32 | docid);
  return risen;
}

/// A document's static score (alpha times its PageRank) in units.
__device__ inline std::uint32_t static_score_units(const RangeView& batch, const BatchQuery& query,
                                                   std::uint32_t docid) {
  return batch.static_scores == nullptr ? 0 : units_of_score(query.scale, batch.static_scores[docid]);
}

/// The requirements for a document of a range to be a result of a query.
struct RangeRequirement {
  QueryThreshold threshold;
  std::uint32_t min_term_units = 1;  ///< minimum sum of its term scores, in units
  bool none = false;                 ///< no document in this range is a result
};

/// The requirement in the range that begins with docID `begin`. If documents are ordered by global score, the first
/// range whose upper bound is below the threshold ends the query, as a round does in Wang et al. (Efficient GPU-based
/// Query Processing with Pruned List Caching in Search Engines, ICPADS 2017, section 3.2).
__device__ inline RangeRequirement requirement_of(const RangeView& batch, std::uint32_t number, std::uint32_t begin,
                                                  const QueryThreshold& threshold) {
  RangeRequirement required{threshold};
  required.min_term_units = max(1u, min_units(required.threshold, begin));
  const std::uint32_t range = begin / range_documents;
  if (batch.range_passes != nullptr) required.none = batch.range_passes[range] == 0;
  if (batch.static_scores == nullptr) return required;
  const BatchQuery& query = batch.queries[number];
  if (batch.range_upper_bounds != nullptr)
    required.none |= units_of_score(query.scale, batch.range_upper_bounds[range]) < required.min_term_units;
  const std::uint32_t static_score = units_of_score(query.scale, batch.range_static_score[range]);
  required.min_term_units = required.min_term_units > static_score ? required.min_term_units - static_score : 1;
  return required;
}

/// The requirement at the current threshold.
__device__ inline RangeRequirement requirement_of(const RangeView& batch, std::uint32_t number, std::uint32_t begin) {
  return requirement_of(batch, number, begin, load_threshold(batch, number));
}

}  // namespace quern::gpu
