#pragma once
#include "quern/gpu/device/tuning.hpp"
#include "quern/gpu/range/exact_scores.cuh"
#include "quern/gpu/range/threshold.cuh"
#include "quern/gpu/worker/sort_keys.cuh"

/// From candidates to results: candidates above the threshold are scored exactly, by the CPU's operations in the CPU's
/// order, and sorted.
namespace quern::gpu {

/// Marks a candidate that the final threshold rules out.
inline constexpr Candidate no_candidate = no_key;

/// Threads that score candidates, and their warps.
inline constexpr unsigned scoring_threads = plain_threads, scoring_warps = scoring_threads / lanes_per_warp;

/// Turns candidates into rank keys; those below the threshold become no_candidate. By warps.
template <Coding coding, int V, bool quantized>
class CandidateScores {
 public:
  /// `buffer` is the warp's.
  __device__ CandidateScores(const IndexView& index, const RangeView& batch, std::uint32_t* buffer)
      : batch_(batch), scores_(index, batch, buffer) {}

  /// Scores this warp's share, from RangeView::num_scored on. Candidates are shared out evenly among the queries, since
  /// with a thread block per query most of the GPU would be idle while it answers a few hundred.
  __device__ void run() {
    const std::uint32_t own = blockIdx.x * scoring_warps + threadIdx.x / lanes_per_warp;
    const std::uint32_t warps = gridDim.x * scoring_warps;
    for (std::uint32_t number = own % batch_.num_queries; number < batch_.num_queries; number += warps) {
      // The query's warps, and which of them this is.
      const std::uint32_t of_query =
          max(1u, warps / batch_.num_queries + (number < warps % batch_.num_queries ? 1 : 0));
      if (!batch_.has_all_candidates(number)) continue;  // the query runs again
      Candidate* candidates = batch_.candidates + std::uint64_t{number} * batch_.max_candidates;
      const std::uint32_t found = min(batch_.num_candidates[number], batch_.max_candidates);
      const unsigned at_once = lanes_per_warp / Scores::lanes_for(batch_.queries[number].terms);
      for (std::uint32_t i = scored_of(number) + own / batch_.num_queries * at_once; i < found; i += of_query * at_once)
        score(number, candidates + i, min(found - i, at_once));
    }
    const std::uint32_t spare = min(*batch_.num_spare(), batch_.max_spare);
    for (std::uint32_t i = scored_of(batch_.num_queries) + own; i < spare; i += warps)
      score(batch_.spare[i].query, &batch_.spare[i].candidate, 1);
  }

 private:
  using Scores = ExactScores<coding, V, quantized>;

  __device__ std::uint32_t scored_of(std::uint32_t number) const {
    return batch_.num_scored == nullptr ? 0 : batch_.num_scored[number];
  }

  /// Scores `count` candidates, at most as many as the warp has groups of lanes.
  __device__ void score(std::uint32_t number, Candidate* candidates, std::uint32_t count) {
    const BatchQuery& query = batch_.queries[number];
    const unsigned lanes = Scores::lanes_for(query.terms), own = lane_id() / lanes;
    const Candidate unscored = own < count ? candidates[own] : Candidate{0};
    const auto docid = static_cast<std::uint32_t>(unscored), units = static_cast<std::uint32_t>(unscored >> 32);
    const bool wanted = own < count && units >= min_units(load_threshold(batch_, number), docid);
    const float score = query.exact_units ? __uint2float_rn(units) : scores_.score(query, docid, wanted);
    __syncwarp();
    if (own < count && lane_id() % lanes == 0) candidates[own] = wanted ? rank_key(score, docid) : no_candidate;
  }

  const RangeView& batch_;
  Scores scores_;
};

template <Coding coding, int V, bool quantized>
__global__ void __launch_bounds__(scoring_threads)
    score_candidates(const __grid_constant__ IndexView index, const __grid_constant__ RangeView batch) {
  __shared__ std::uint32_t buffers[scoring_warps * WarpBuffer<V>::size];
  CandidateScores<coding, V, quantized>(index, batch, buffers + threadIdx.x / lanes_per_warp * WarpBuffer<V>::size)
      .run();
}

/// The results of one query, by a thread block.
template <Coding coding, int V, bool quantized>
class QueryFinish {
 public:
  __device__ QueryFinish(const IndexView& index, const RangeView& batch, Candidate* keys, std::uint32_t& kept,
                         std::uint32_t* warp_buffers)
      : batch_(batch), keys_(keys), kept_(kept), scores_(index, batch, warp_buffers + warp() * WarpBuffer<V>::size) {}

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
      score(query, kept, all);
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

  /// Turns the candidates from `kept` to `all` into rank keys.
  __device__ void score(const BatchQuery& query, std::uint32_t kept, std::uint32_t all) {
    const unsigned lanes = Scores::lanes_for(query.terms), at_once = lanes_per_warp / lanes;
    for (std::uint32_t first = kept + warp() * at_once; first < all;
         first += finish_threads / lanes_per_warp * at_once) {
      const std::uint32_t own = first + lane_id() / lanes;
      const auto docid = static_cast<std::uint32_t>(own < all ? keys_[own] : 0);
      const float score = scores_.score(query, docid, own < all);
      if (own < all && lane_id() % lanes == 0) keys_[own] = rank_key(score, docid);
    }
  }

  using Scores = ExactScores<coding, V, quantized>;

  const RangeView& batch_;
  Candidate* keys_;
  std::uint32_t& kept_;
  Scores scores_;
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
