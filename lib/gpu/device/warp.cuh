#pragma once
#include <cstdint>

/// A warp's 32 lanes working as one; or as groups of L neighbouring lanes, L a power of two, each with work of its own.
namespace quern::gpu {

inline constexpr unsigned all_lanes = 0xffffffffu;
inline constexpr unsigned lanes_per_warp = 32;

__device__ inline unsigned lane_id() { return threadIdx.x % lanes_per_warp; }
/// The lane's number in its group.
template <int L>
__device__ inline unsigned lane_of_group() {
  return threadIdx.x % L;
}

/// The group's number in its warp.
template <int L>
__device__ inline unsigned group_of_lane() {
  return L == lanes_per_warp ? 0 : lane_id() / L;
}

/// A value that is the same in all lanes, in a form that lets the compiler know it: branches on it do not diverge then.
__device__ inline std::uint32_t uniform(std::uint32_t value) { return __shfl_sync(all_lanes, value, 0); }

/// Sum of the values of this lane and those before it, in its group of L lanes.
template <int L = lanes_per_warp>
__device__ inline std::uint32_t inclusive_sum(std::uint32_t value) {
#pragma unroll
  for (unsigned distance = 1; distance < L; distance *= 2) {
#ifdef __CUDACC__
    // The instruction itself tells whether there is such a lane; its C++ form does not hand that on.
    asm volatile(
        "{ .reg .u32 other; .reg .pred there;"
        "  shfl.sync.up.b32 other|there, %0, %1, %2, 0xffffffff;"
        "  @there add.u32 %0, %0, other; }"
        : "+r"(value)
        : "r"(distance), "n"((lanes_per_warp - L) << 8));
#else
    const std::uint32_t other = __shfl_up_sync(all_lanes, value, distance, L);
    if (lane_of_group<L>() >= distance) value += other;
#endif
  }
  return value;
}

/// The value of the last lane of the group.
template <int L = lanes_per_warp>
__device__ inline std::uint32_t last_lane(std::uint32_t value) {
  return __shfl_sync(all_lanes, value, L - 1, L);
}
/// Whether it holds for all lanes of the group.
template <int L = lanes_per_warp>
__device__ inline bool all_of_group(bool holds) {
  if constexpr (L == lanes_per_warp) return __all_sync(all_lanes, holds);
  const unsigned group = ((1u << L % lanes_per_warp) - 1) << (lane_id() & ~(L - 1u));
  return (__ballot_sync(all_lanes, holds) & group) == group;
}

/// The greatest of all lanes' values.
__device__ inline std::uint32_t warp_max(std::uint32_t value) { return __reduce_max_sync(all_lanes, value); }
__device__ inline std::uint32_t warp_sum(std::uint32_t value) { return __reduce_add_sync(all_lanes, value); }

/// The last i in [begin, end) for which first(i), which never falls, is not above `number`; first(begin) is not. By a
/// whole warp.
template <class First>
__device__ inline std::uint32_t last_begun(std::uint32_t begin, std::uint32_t end, std::uint32_t number,
                                           First&& first) {
  while (end - begin > 1) {
    const std::uint32_t step = (end - begin + lanes_per_warp - 1) / lanes_per_warp;
    const std::uint32_t probe = begin + lane_id() * step;
    const bool begun = probe < end && first(probe) <= number;
    const unsigned lane = 31 - __clz(__ballot_sync(all_lanes, begun));
    begin += lane * step;
    end = min(end, begin + step);
  }
  return begin;
}

/// The greatest of all groups' values, each of which has the same in all of its lanes.
template <int L>
__device__ inline std::uint32_t max_of_groups(std::uint32_t value) {
  return L == lanes_per_warp ? value : warp_max(value);
}

}  // namespace quern::gpu
