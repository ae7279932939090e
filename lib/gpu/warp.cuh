#pragma once
#include <cstdint>

/// A warp's 32 lanes working as one.
namespace quern::gpu {

inline constexpr unsigned all_lanes = 0xffffffffu;
inline constexpr unsigned lanes_a_warp = 32;

__device__ inline unsigned lane_id() { return threadIdx.x % lanes_a_warp; }

/// Sum of the values of this lane and those before it.
__device__ inline std::uint32_t inclusive_sum(std::uint32_t value) {
#pragma unroll
  for (unsigned distance = 1; distance < lanes_a_warp; distance *= 2) {
    const std::uint32_t other = __shfl_up_sync(all_lanes, value, distance);
    if (lane_id() >= distance) value += other;
  }
  return value;
}

__device__ inline std::uint32_t last_lane(std::uint32_t value) { return __shfl_sync(all_lanes, value, 31); }

/// The greatest of all lanes' values.
__device__ inline std::uint32_t warp_max(std::uint32_t value) { return __reduce_max_sync(all_lanes, value); }
__device__ inline std::uint32_t warp_sum(std::uint32_t value) { return __reduce_add_sync(all_lanes, value); }

/// The last i in [begin, end) for which first(i), which never falls, is not above `number`; first(begin) is not. By a
/// whole warp.
template <class First>
__device__ inline std::uint32_t last_begun(std::uint32_t begin, std::uint32_t end, std::uint32_t number,
                                           First&& first) {
  while (end - begin > 1) {
    const std::uint32_t step = (end - begin + lanes_a_warp - 1) / lanes_a_warp;
    const std::uint32_t probe = begin + lane_id() * step;
    const bool begun = probe < end && first(probe) <= number;
    const unsigned lane = 31 - __clz(__ballot_sync(all_lanes, begun));
    begin += lane * step;
    end = min(end, begin + step);
  }
  return begin;
}

}  // namespace quern::gpu
