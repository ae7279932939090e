#pragma once
#include "quern/gpu/device/warp.cuh"
#include "quern/gpu/papers/ding/ding_plan.hpp"
#include "quern/gpu/worker/batch_view.cuh"

/// Queries that are processed together: a wave, or a round of waves. Each query has *leaves*, which are scores as the
/// bits of a float, negative if there is no document. A union has a leaf per document of the window or of the index,
/// its accumulator; an intersection has a leaf per posting of its shortest list, or of its blocks in the window. Above
/// the leaves are two levels of a tree of maxima (Ding et al.: Using Graphics Processors for High Performance IR Query
/// Processing, WWW 2009, section 8.2).
namespace quern::gpu {

/// Maximum queries per wave: one per lane.
inline constexpr std::uint32_t wave_queries = lanes_per_warp;
/// A leaf without a document: all of its bytes are the same, and it is below the bits of any score.
inline constexpr std::int32_t no_score = -1;

struct Wave {
  const WaveQuery* queries = nullptr;
  std::uint32_t first_query = 0, num_queries = 0;  ///< in the batch
  std::int32_t* leaves = nullptr;
  std::uint32_t* docids = nullptr;  ///< of the leaves; null: a query's leaf i is the window's document i
  std::int32_t *nodes = nullptr, *tops = nullptr;
};

/// Divides the tasks of a wave's queries evenly among all warps, and calls visit(query, task) for each of this warp's
/// tasks, which are consecutive. `own`: the number of tasks of the query with this lane's number; fewer than 2^32 in
/// total.
template <class Visit>
__device__ inline void for_own_tasks(std::uint32_t own, Visit&& visit) {
  const std::uint32_t end = inclusive_sum(own), all = last_lane(end);
  const std::uint64_t warps = std::uint64_t{gridDim.x} * (blockDim.x / lanes_per_warp);
  const std::uint64_t warp = (std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x) / lanes_per_warp;
  const auto last = static_cast<std::uint32_t>(all * (warp + 1) / warps);
  for (auto task = static_cast<std::uint32_t>(all * warp / warps); task < last;) {
    const unsigned query = __popc(__ballot_sync(all_lanes, end <= task));
    const std::uint32_t query_end = __shfl_sync(all_lanes, end, query);
    const std::uint32_t query_begin = query_end - __shfl_sync(all_lanes, own, query);
    for (; task < min(query_end, last); ++task) visit(query, task - query_begin);
  }
}

}  // namespace quern::gpu
