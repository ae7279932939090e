#pragma once
#include "quern/gpu/common/lookup.cuh"
#include "quern/gpu/common/sort_keys.cuh"
#include "quern/gpu/device/tuning.hpp"
#include "quern/gpu/range/threshold.cuh"

/// From candidates to results: candidates above the threshold are scored exactly, by the CPU's operations in the CPU's
/// order, and sorted.
namespace quern::gpu {

/// Marks a candidate that the final threshold rules out.
inline constexpr Candidate no_candidate = no_key;

/// The score of a document: its static score and term scores, added in the order of summation, from the posting lists.
/// By a whole warp.
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

/// Threads that score candidates, and their warps.
inline constexpr unsigned scoring_threads = plain_threads, scoring_warps = scoring_threads / lanes_per_warp;

/// A thread block's shared memory: what its warps decode, and the term scores of a document.
template <int V>
struct ScoringShared {
  std::uint32_t buffers[scoring_warps * WarpBuffer<V>::size];
  float term_scores[max_terms];
  bool found[max_terms];
};

/// Turns candidates into rank keys; those below the threshold become no_candidate.
template <Coding coding, int V, bool quantized>
class CandidateScores {
 public:
  /// `together`: the warps of a thread block look up one candidate's terms at the same time. Otherwise each warp has a
  /// candidate of its own, which takes longer for one and less for many.
  __device__ CandidateScores(const IndexView& index, const RangeView& batch, ScoringShared<V>& shared, bool together)
      : index_(index),
        batch_(batch),
        shared_(shared),
        together_(together),
        decoder_(index, WarpBuffer<V>{shared.buffers + warp() * WarpBuffer<V>::size}) {}

  __device__ void run() {
    if (together_)
      run(blockIdx.x, gridDim.x);
    else
      run(blockIdx.x * scoring_warps + warp(), gridDim.x * scoring_warps);
  }

 private:
  __device__ static unsigned warp() { return threadIdx.x / lanes_per_warp; }

  /// Scores the share of one of so many workers, warps or thread blocks, from RangeView::num_scored on. They are shared
  /// out evenly among the queries, since with a thread block per query most of the GPU would be idle while it answers a
  /// few hundred.
  __device__ void run(std::uint32_t own, std::uint32_t workers) {
    for (std::uint32_t number = own % batch_.num_queries; number < batch_.num_queries; number += workers) {
      // The query's workers, and which of them this is.
      const std::uint32_t of_query =
          max(1u, workers / batch_.num_queries + (number < workers % batch_.num_queries ? 1 : 0));
      if (!batch_.has_all_candidates(number)) continue;  // the query runs again
      const std::uint32_t found = min(batch_.num_candidates[number], batch_.max_candidates);
      for (std::uint32_t i = scored_of(number) + own / batch_.num_queries; i < found; i += of_query)
        score(number, batch_.candidates[std::uint64_t{number} * batch_.max_candidates + i]);
    }
    const std::uint32_t spare = min(*batch_.num_spare(), batch_.max_spare);
    for (std::uint32_t i = scored_of(batch_.num_queries) + own; i < spare; i += workers)
      score(batch_.spare[i].query, batch_.spare[i].candidate);
  }

  __device__ std::uint32_t scored_of(std::uint32_t number) const {
    return batch_.num_scored == nullptr ? 0 : batch_.num_scored[number];
  }

  __device__ void score(std::uint32_t number, Candidate& candidate) {
    const BatchQuery& query = batch_.queries[number];
    const Candidate unscored = candidate;
    const auto docid = static_cast<std::uint32_t>(unscored), units = static_cast<std::uint32_t>(unscored >> 32);
    Candidate key = no_candidate;
    if (units >= min_units(load_threshold(batch_, number), docid))
      key = rank_key(query.exact_units ? __uint2float_rn(units) : score_of(query, docid), docid);
    if (together_)
      __syncthreads();
    else
      __syncwarp();
    if (together_ ? threadIdx.x == 0 : lane_id() == 0) candidate = key;
  }

  __device__ float score_of(const BatchQuery& query, std::uint32_t docid) {
    if (!together_) return exact_score<quantized, V>(index_, batch_, decoder_, query, docid);
    for (std::uint32_t t = warp(); t < query.terms; t += scoring_warps) {
      const BatchTerm& term = batch_.terms[query.first_term + t];
      std::uint32_t value = 0;
      const bool found = find_value<quantized, V>(index_, batch_, decoder_, batch_.lists[term.list], docid, value);
      if (lane_id() > 0) continue;
      shared_.found[t] = found;
      shared_.term_scores[t] = found ? term_score<quantized>(index_, term.weight, docid, value) : 0;
    }
    __syncthreads();
    // In the order of summation.
    float score = static_score_of(index_, docid);
    for (std::uint32_t t = 0; t < query.terms; ++t)
      if (shared_.found[t]) score = __fadd_rn(score, shared_.term_scores[t]);
    return score;
  }

  const IndexView& index_;
  const RangeView& batch_;
  ScoringShared<V>& shared_;
  const bool together_;
  typename DecoderOf<coding, V>::Type decoder_;
};

template <Coding coding, int V, bool quantized>
__global__ void __launch_bounds__(scoring_threads)
    score_candidates(const __grid_constant__ IndexView index, const __grid_constant__ RangeView batch, bool together) {
  __shared__ ScoringShared<V> shared;
  CandidateScores<coding, V, quantized>(index, batch, shared, together).run();
}

/// The results of one query, by a thread block.
template <Coding coding, int V, bool quantized>
class QueryFinish {
 public:
  __device__ QueryFinish(const IndexView& index, const RangeView& batch, Candidate* keys, std::uint32_t& kept,
                         std::uint32_t* warp_buffers)
      : index_(index),
        batch_(batch),
        keys_(keys),
        kept_(kept),
        decoder_(index, WarpBuffer<V>{warp_buffers + warp() * WarpBuffer<V>::size}) {}

  /// Writes the results of query `number`. With `scored`, its candidates are rank keys already.
  __device__ void run(std::uint32_t number, bool scored) {
    if (!batch_.has_all_candidates(number)) return give_up(number);
    const BatchQuery& query = batch_.queries[number];
    const Threshold threshold = load_threshold(batch_, number);
    const std::uint32_t found = batch_.num_candidates[number], own = min(found, batch_.max_candidates);
    // Sorted so far; there is room for more besides the results among these.
    std::uint32_t kept = 0;
    const std::uint32_t at_once = batch_.max_candidates - batch_.k;
    const Candidate* candidates = batch_.candidates + std::uint64_t{number} * batch_.max_candidates;
    for (std::uint32_t first = 0; first < own; first += at_once)
      kept = merge(query, scored, kept, [&] {
        for (std::uint32_t i = first + threadIdx.x; i < min(own, first + at_once); i += finish_threads)
          keep(query, threshold, candidates[i], scored);
      });
    const std::uint32_t spare = own < found ? *batch_.num_spare() : 0;
    for (std::uint32_t first = 0; first < spare; first += at_once)
      kept = merge(query, scored, kept, [&] {
        for (std::uint32_t i = first + threadIdx.x; i < min(spare, first + at_once); i += finish_threads)
          if (batch_.spare[i].query == number) keep(query, threshold, batch_.spare[i].candidate, scored);
      });
    for (std::uint32_t i = threadIdx.x; i < kept; i += finish_threads)
      batch_.results[std::uint64_t{number} * batch_.k + i] = keys_[i];
    if (threadIdx.x == 0) batch_.num_results[number] = kept;
  }

 private:
  __device__ static unsigned warp() { return threadIdx.x / lanes_per_warp; }

  /// There is no room for all candidates: the query runs again, from the threshold that it has reached.
  __device__ void give_up(std::uint32_t number) const {
    if (threadIdx.x > 0) return;
    batch_.num_results[number] = run_again;
    batch_.results[std::uint64_t{number} * batch_.k] = key_of(load_threshold(batch_, number));
  }

  /// Lets keep_more() add candidates to the `kept` sorted keys, and sorts all. Returns how many results are among them.
  template <class KeepMore>
  __device__ std::uint32_t merge(const BatchQuery& query, bool scored, std::uint32_t kept, KeepMore&& keep_more) {
    if (threadIdx.x == 0) kept_ = kept;
    __syncthreads();
    keep_more();
    __syncthreads();
    const std::uint32_t all = kept_;
    if (all == kept) return kept;
    if (!scored && !query.exact_units) {
      for (std::uint32_t i = kept + warp(); i < all; i += finish_threads / lanes_per_warp) score(query, keys_[i]);
      __syncthreads();
    }
    sort_keys(keys_, all);
    return min(all, batch_.k);
  }

  /// Copies a candidate to shared memory, as a key if it has one already, unless the threshold rules it out.
  __device__ void keep(const BatchQuery& query, const Threshold& threshold, Candidate key, bool scored) {
    const auto docid = static_cast<std::uint32_t>(key);
    if (scored) {
      if (key == no_candidate) return;
      const float score = __uint_as_float(~static_cast<std::uint32_t>(key >> 32));
      if (upper_units(query, score) < min_units(threshold, docid)) return;
    } else {
      const auto units = static_cast<std::uint32_t>(key >> 32);
      if (units < min_units(threshold, docid)) return;
      if (query.exact_units) key = rank_key(__uint2float_rn(units), docid);
    }
    keys_[atomicAdd(&kept_, 1u)] = key;
  }

  /// Turns a candidate into a rank key.
  __device__ void score(const BatchQuery& query, Candidate& key) {
    const auto docid = static_cast<std::uint32_t>(key);
    const float score = exact_score<quantized, V>(index_, batch_, decoder_, query, docid);
    __syncwarp();
    if (lane_id() == 0) key = rank_key(score, docid);
    __syncwarp();
  }

  const IndexView& index_;
  const RangeView& batch_;
  Candidate* keys_;
  std::uint32_t& kept_;
  typename DecoderOf<coding, V>::Type decoder_;
};

template <Coding coding, int V, bool quantized>
__global__ void __launch_bounds__(finish_threads)
    finish_queries(const __grid_constant__ IndexView index, const __grid_constant__ RangeView batch, bool scored) {
  extern __shared__ __align__(16) unsigned char shared[];
  __shared__ std::uint32_t kept;
  __shared__ std::uint32_t warp_buffers[finish_threads / lanes_per_warp * WarpBuffer<V>::size];
  QueryFinish<coding, V, quantized> finish(index, batch, reinterpret_cast<Candidate*>(shared), kept, warp_buffers);
  for (std::uint32_t number = blockIdx.x; number < batch.num_queries; number += gridDim.x) {
    finish.run(number, scored);
    __syncthreads();
  }
}

}  // namespace quern::gpu
