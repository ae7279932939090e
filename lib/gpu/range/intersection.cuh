#pragma once
#include "quern/gpu/device/tuning.hpp"
#include "quern/gpu/range/finish.cuh"
#include "quern/gpu/worker/scored_documents.cuh"

/// Intersection without entries: a warp takes a block of the shortest list and looks its documents up in the other
/// lists. Term scores are added in the order of summation, so that scores are exact from the start.
namespace quern::gpu {

/// Blocks of the shortest list that a warp takes at a time.
inline constexpr std::uint32_t tasks_at_a_time = 4;
/// Maximum thread blocks that share a block of the shortest list: if there are more warps than blocks, each warp looks
/// up a part of a block's documents, down to a single one.
inline constexpr std::uint32_t blocks_per_task = 16;

template <Coding coding, int V, bool quantized>
class IntersectionWarp {
 public:
  __device__ IntersectionWarp(const IndexView& index, const RangeView& batch, std::uint32_t* buffer)
      : index_(index), batch_(batch), scored_(index, batch, buffer) {}

  __device__ void run() {
    constexpr std::uint32_t warps_per_block = plain_threads / lanes_per_warp;
    const std::uint32_t warps = gridDim.x * warps_per_block;
    const std::uint32_t own = blockIdx.x * warps_per_block + threadIdx.x / lanes_per_warp;
    // Blocks are split into parts only if there are too few of them for all warps.
    unsigned shift = __ffs(block_documents) - 1;  // documents of a part, as a power of 2
    while (shift > 0 && (std::uint64_t{batch_.tasks} * block_documents >> (shift - 1)) <= warps) --shift;
    const std::uint32_t parts = block_documents >> shift, all = batch_.tasks * parts;
    // The first tasks of each warp need no queue.
    const std::uint32_t step = all <= warps * tasks_at_a_time ? 1 : tasks_at_a_time;
    for (std::uint32_t work = own * step; work < all; work = warps * step + next_of_queue(step)) {
      const std::uint32_t end = min(work + step, all);
      std::uint32_t number = last_begun(0, batch_.num_queries, work / parts,
                                        [&](std::uint32_t q) { return batch_.queries[q].first_task; });
      for (std::uint32_t i = work; i < end; ++i) {
        const std::uint32_t task = i / parts;
        while (number + 1 < batch_.num_queries && batch_.queries[number + 1].first_task <= task) ++number;
        own_ = own_documents(i % parts, shift);
        answer(number, task - batch_.queries[number].first_task);
      }
      if (all <= warps * step) return;
    }
  }

 private:
  static constexpr std::uint32_t block_documents = V * lanes_per_warp;

  __device__ std::uint32_t next_of_queue(std::uint32_t step) const {
    std::uint32_t work = 0;
    if (lane_id() == 0) work = atomicAdd(batch_.next_work, step);
    return __shfl_sync(all_lanes, work, 0);
  }
  /// A bit for each of this lane's documents of a block that lies in the part; parts have 2^shift documents.
  __device__ static std::uint32_t own_documents(std::uint32_t part, unsigned shift) {
    std::uint32_t own = 0;
#pragma unroll
    for (unsigned i = 0; i < V; ++i) own |= static_cast<std::uint32_t>((lane_id() * V + i) >> shift == part) << i;
    return own;
  }

  __device__ void answer(std::uint32_t number, std::uint32_t block) {
    const BatchQuery& query = batch_.queries[number];
    const BatchTerm& shortest = batch_.terms[query.first_term];
    const ListView& list = batch_.lists[shortest.list];
    if (!list.raw && ended(number, place_of(index_, list, block).before + 1)) return;
    if (!scored_.take(shortest, block)) return;
    scored_.documents.keep(own_);
    drop_filtered();
    for (std::uint32_t t = 1; t < query.terms; ++t) {
      if (!scored_.documents.any()) return;
      scored_.look_up(batch_.terms[query.first_term + t]);
    }
    add_candidates(number, query);
  }

  /// Drops the documents that a filter leaves out.
  __device__ void drop_filtered() {
    if (batch_.passing == nullptr) return;
#pragma unroll
    for (int i = 0; i < V; ++i)
      if (scored_.documents.alive(i) && !batch_.passes(scored_.documents.docid(i))) scored_.documents.drop(i);
  }

  /// Whether no document from `docid` on is a result.
  __device__ bool ended(std::uint32_t number, std::uint32_t docid) const {
    if (batch_.range_upper_bounds == nullptr || docid >= index_.num_documents) return false;
    const Threshold threshold = load_threshold(batch_, number);
    return units_of_score(batch_.queries[number].scale, batch_.range_upper_bounds[docid / range_documents]) <
           threshold.units;
  }

  __device__ void add_candidates(std::uint32_t number, const BatchQuery& query) {
    count(number, query);
    if (!scored_.documents.any()) return;
    __threadfence();
    const Threshold threshold = raise_threshold(batch_, query, number);
#pragma unroll
    for (int i = 0; i < V; ++i) {
      if (!scored_.documents.alive(i)) continue;
      const std::uint32_t docid = scored_.documents.docid(i);
      if (upper_units(query, scored_.scores[i]) >= min_units(threshold, docid))
        store_candidate(batch_, number, rank_key(scored_.scores[i], docid));
    }
  }

  /// Counts the documents that may be results, and drops the others.
  __device__ void count(std::uint32_t number, const BatchQuery& query) {
    const Threshold threshold = load_threshold(batch_, number);
#pragma unroll
    for (int i = 0; i < V; ++i) {
      if (!scored_.documents.alive(i)) continue;
      const std::uint32_t docid = scored_.documents.docid(i);
      const float score = scored_.scores[i];
      if (upper_units(query, score) >= min_units(threshold, docid))
        count_document(batch_, query, number, docid, min(static_cast<std::uint32_t>(score * query.scale), max_units));
      else
        scored_.documents.drop(i);
    }
  }

  const IndexView& index_;
  const RangeView& batch_;
  ScoredDocuments<coding, V, quantized> scored_;
  std::uint32_t own_ = 0;  ///< a bit per document of this lane: whether it belongs to this warp's part
};

template <Coding coding, int V, bool quantized>
__global__ void __launch_bounds__(plain_threads)
    run_intersection(const __grid_constant__ IndexView index, const __grid_constant__ RangeView batch) {
  __shared__ std::uint32_t buffers[plain_threads / lanes_per_warp * WarpBuffer<V>::size];
  IntersectionWarp<coding, V, quantized>(index, batch, buffers + threadIdx.x / lanes_per_warp * WarpBuffer<V>::size)
      .run();
}

}  // namespace quern::gpu
