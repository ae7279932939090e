#pragma once
#include "quern/gpu/device/warp.cuh"
#include "quern/gpu/engine/units.hpp"

namespace quern::gpu {

/// Looks documents up in a list's `count` entries of a range, which rise, one for each lane that wants one, by a whole
/// warp. Returns the document's entry, or, where it has none, any other document's. The lanes read 32 entries spread
/// evenly and choose between two of them without memory, so that few reads wait for one another and those lie close.
__device__ inline std::uint32_t entry_of(const std::uint32_t* entries, std::uint32_t count, std::uint32_t document,
                                         bool wanted) {
  const std::uint32_t step = (count + lanes_per_warp - 1) / lanes_per_warp, last = document << 16 | 0xffff;
  const std::uint32_t splitter = entries[min(lane_id() * step, count - 1)];
  unsigned lane = 0;
#pragma unroll
  for (unsigned distance = lanes_per_warp / 2; distance > 0; distance /= 2)
    if (__shfl_sync(all_lanes, splitter, lane + distance) <= last) lane += distance;
  std::uint32_t found = __shfl_sync(all_lanes, splitter, lane);
  if (!wanted || found >> 16 >= document) return found;
  // entries[begin] is `found`.
  for (std::uint32_t begin = min(lane * step, count - 1), end = min(begin + step, count); end - begin > 1;) {
    const std::uint32_t middle = begin + (end - begin) / 2, entry = entries[middle];
    if (entry <= last)
      begin = middle, found = entry;
    else
      end = middle;
  }
  return found;
}

}  // namespace quern::gpu
