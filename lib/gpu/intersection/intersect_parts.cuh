#pragma once
#include "quern/gpu/device/warp.cuh"
#include "quern/gpu/intersection/intersect_view.cuh"

/// The parts of a batch's queries, and the warps that take them from a queue.
namespace quern::gpu {

/// Parts that a warp takes at a time.
inline constexpr std::uint32_t parts_at_a_time = 4;

/// The last of the queries in [begin, end) whose first part is not behind this one. By a whole warp.
__device__ inline std::uint32_t query_of_part(const IntersectQuery* queries, std::uint32_t begin, std::uint32_t end,
                                              std::uint32_t part) {
  return last_begun(begin, end, part, [&](std::uint32_t i) { return queries[i].first_part; });
}

/// Which queries, and which of all parts, kernels of a kind take.
struct PartRange {
  std::uint32_t first_query = 0, end_query = 0, first_part = 0, end_part = 0;
  std::uint32_t* next = nullptr;

  /// Those that decode lists.
  __device__ static PartRange coded(const IntersectView& batch) {
    return {0, batch.coded_queries, 0, batch.coded_parts, batch.next_part};
  }
  __device__ static PartRange unpacked(const IntersectView& batch) {
    return {batch.coded_queries, batch.num_queries, batch.coded_parts, batch.num_parts, batch.next_part + 1};
  }
};

/// Calls take(query, part, place of the part in its query) for parts until there are none left. By a whole warp.
template <class Take>
__device__ inline void for_each_part(const IntersectView& batch, const PartRange& range, Take&& take) {
  for (;;) {
    std::uint32_t part = 0;
    if (lane_id() == 0) part = range.first_part + atomicAdd(range.next, parts_at_a_time);
    part = __shfl_sync(all_lanes, part, 0);
    if (part >= range.end_part) return;
    const std::uint32_t end = min(part + parts_at_a_time, range.end_part);
    std::uint32_t number = query_of_part(batch.queries, range.first_query, range.end_query, part);
    for (; part < end; ++part) {
      while (number + 1 < range.end_query && batch.queries[number + 1].first_part <= part) ++number;
      const IntersectQuery& query = batch.queries[number];
      take(query, part, part - query.first_part);
    }
  }
}

/// Where a part puts what it finds.
__device__ inline std::uint32_t* room_of(const IntersectView& batch, const IntersectQuery& query, std::uint32_t place) {
  return batch.room + query.first_word + std::uint64_t{place} * query.part_size;
}

/// The query's list for its t-th term.
__device__ inline const IntersectList& list_of(const IntersectView& batch, const IntersectQuery& query,
                                               std::uint32_t t) {
  return batch.lists[batch.terms[query.first_term + t]];
}

}  // namespace quern::gpu
