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

/// Turns candidates into rank keys, from RangeView::num_scored on. Warps are shared out evenly among the queries, since
/// with a thread block per query most of the GPU would be idle while it answers a few hundred. Candidates below the
/// threshold become no_candidate.
template <Coding coding, int V, bool quantized>
__global__ void __launch_bounds__(plain_threads)
    score_candidates(const __grid_constant__ IndexView index, const __grid_constant__ RangeView batch) {
  constexpr unsigned warps_per_block = plain_threads / lanes_per_warp;
  __shared__ std::uint32_t buffers[warps_per_block * WarpBuffer<V>::size];
  const unsigned warp = threadIdx.x / lanes_per_warp;
  typename DecoderOf<coding, V>::Type decoder(index, WarpBuffer<V>{buffers + warp * WarpBuffer<V>::size});
  const std::uint32_t warps = gridDim.x * warps_per_block, own = blockIdx.x * warps_per_block + warp;
  for (std::uint32_t number = own % batch.num_queries; number < batch.num_queries; number += warps) {
    // The query's warps, and which of them this is.
    const std::uint32_t of_query = max(1u, warps / batch.num_queries + (number < warps % batch.num_queries ? 1 : 0));
    const std::uint32_t place = own / batch.num_queries;
    const std::uint32_t found = batch.num_candidates[number];
    if (found > batch.max_candidates) continue;  // the query runs again
    const std::uint32_t scored = batch.num_scored == nullptr ? 0 : batch.num_scored[number];
    const BatchQuery& query = batch.queries[number];
    const Threshold threshold = load_threshold(batch, number);
    for (std::uint32_t i = scored + place; i < found; i += of_query) {
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
    const std::uint32_t found = batch_.num_candidates[number];
    if (found > batch_.max_candidates) {
      if (threadIdx.x == 0) {
        batch_.num_results[number] = run_again;
        batch_.results[std::uint64_t{number} * batch_.k] = key_of(load_threshold(batch_, number));
      }
      return;
    }
    const BatchQuery& query = batch_.queries[number];
    if (threadIdx.x == 0) kept_ = 0;
    __syncthreads();
    keep(number, query, found, scored);
    __syncthreads();
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

  /// Copies the candidates above the threshold to shared memory.
  __device__ void keep(std::uint32_t number, const BatchQuery& query, std::uint32_t found, bool scored) {
    const Threshold threshold = load_threshold(batch_, number);
    for (std::uint32_t i = threadIdx.x; i < found; i += finish_threads) {
      Candidate key = batch_.candidates[std::uint64_t{number} * batch_.max_candidates + i];
      const auto docid = static_cast<std::uint32_t>(key);
      if (scored) {
        if (key == no_candidate) continue;
        const float score = __uint_as_float(~static_cast<std::uint32_t>(key >> 32));
        if (upper_units(query, score) < min_units(threshold, docid)) continue;
      } else {
        const auto units = static_cast<std::uint32_t>(key >> 32);
        if (units < min_units(threshold, docid)) continue;
        if (query.exact_units) key = rank_key(__uint2float_rn(units), docid);
      }
      keys_[atomicAdd(&kept_, 1u)] = key;
    }
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
