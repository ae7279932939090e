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

/// Turns candidates into rank keys; those below the threshold become no_candidate. By a warp.
template <Coding coding, int V, bool quantized>
class CandidateScores {
 public:
  __device__ CandidateScores(const IndexView& index, const RangeView& batch, std::uint32_t* buffer)
      : index_(index), batch_(batch), decoder_(index, WarpBuffer<V>{buffer}) {}

  /// Scores this warp's share of all queries' candidates, from RangeView::num_scored on. Warps are shared out evenly
  /// among the queries, since with a thread block per query most of the GPU would be idle while it answers a few
  /// hundred.
  __device__ void run(std::uint32_t own, std::uint32_t warps) {
    for (std::uint32_t number = own % batch_.num_queries; number < batch_.num_queries; number += warps) {
      // The query's warps, and which of them this is.
      const std::uint32_t of_query =
          max(1u, warps / batch_.num_queries + (number < warps % batch_.num_queries ? 1 : 0));
      if (!batch_.has_all_candidates(number)) continue;  // the query runs again
      const std::uint32_t found = min(batch_.num_candidates[number], batch_.max_candidates);
      for (std::uint32_t i = scored_of(number) + own / batch_.num_queries; i < found; i += of_query)
        score(number, batch_.candidates[std::uint64_t{number} * batch_.max_candidates + i]);
    }
    const std::uint32_t spare = min(*batch_.num_spare(), batch_.max_spare);
    for (std::uint32_t i = scored_of(batch_.num_queries) + own; i < spare; i += warps)
      score(batch_.spare[i].query, batch_.spare[i].candidate);
  }

 private:
  __device__ std::uint32_t scored_of(std::uint32_t number) const {
    return batch_.num_scored == nullptr ? 0 : batch_.num_scored[number];
  }

  __device__ void score(std::uint32_t number, Candidate& candidate) {
    const BatchQuery& query = batch_.queries[number];
    const auto docid = static_cast<std::uint32_t>(candidate), units = static_cast<std::uint32_t>(candidate >> 32);
    Candidate key = no_candidate;
    if (units >= min_units(load_threshold(batch_, number), docid))
      key = rank_key(query.exact_units ? __uint2float_rn(units)
                                       : exact_score<quantized, V>(index_, batch_, decoder_, query, docid),
                     docid);
    __syncwarp();
    if (lane_id() == 0) candidate = key;
  }

  const IndexView& index_;
  const RangeView& batch_;
  typename DecoderOf<coding, V>::Type decoder_;
};

template <Coding coding, int V, bool quantized>
__global__ void __launch_bounds__(plain_threads)
    score_candidates(const __grid_constant__ IndexView index, const __grid_constant__ RangeView batch) {
  constexpr unsigned warps_per_block = plain_threads / lanes_per_warp;
  __shared__ std::uint32_t buffers[warps_per_block * WarpBuffer<V>::size];
  const unsigned warp = threadIdx.x / lanes_per_warp;
  CandidateScores<coding, V, quantized>(index, batch, buffers + warp * WarpBuffer<V>::size)
      .run(blockIdx.x * warps_per_block + warp, gridDim.x * warps_per_block);
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
    if (threadIdx.x == 0) kept_ = 0;
    __syncthreads();
    keep(number, query, scored);
    __syncthreads();
    if (kept_ > batch_.max_candidates) return give_up(number);
    if (!scored && !query.exact_units) {
      for (std::uint32_t i = warp(); i < kept_; i += finish_threads / lanes_per_warp) score(query, keys_[i]);
      __syncthreads();
    }
    const std::uint32_t kept = kept_;
    sort_keys(keys_, kept);
    const std::uint32_t results = min(kept, batch_.k);
    for (std::uint32_t i = threadIdx.x; i < results; i += finish_threads)
      batch_.results[std::uint64_t{number} * batch_.k + i] = keys_[i];
    if (threadIdx.x == 0) batch_.num_results[number] = results;
  }

 private:
  __device__ static unsigned warp() { return threadIdx.x / lanes_per_warp; }

  /// There is no room for all candidates: the query runs again, from the threshold that it has reached.
  __device__ void give_up(std::uint32_t number) const {
    if (threadIdx.x > 0) return;
    batch_.num_results[number] = run_again;
    batch_.results[std::uint64_t{number} * batch_.k] = key_of(load_threshold(batch_, number));
  }

  /// Copies the candidates above the threshold to shared memory, as far as there is room, and counts them.
  __device__ void keep(std::uint32_t number, const BatchQuery& query, bool scored) {
    const Threshold threshold = load_threshold(batch_, number);
    const std::uint32_t found = batch_.num_candidates[number], own = min(found, batch_.max_candidates);
    for (std::uint32_t i = threadIdx.x; i < own; i += finish_threads)
      keep(query, threshold, batch_.candidates[std::uint64_t{number} * batch_.max_candidates + i], scored);
    if (own == found) return;
    const std::uint32_t spare = *batch_.num_spare();
    for (std::uint32_t i = threadIdx.x; i < spare; i += finish_threads)
      if (batch_.spare[i].query == number) keep(query, threshold, batch_.spare[i].candidate, scored);
  }

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
    const std::uint32_t place = atomicAdd(&kept_, 1u);
    if (place < batch_.max_candidates) keys_[place] = key;
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
