#pragma once
#include "quern/gpu/device/searches.hpp"

/// Operations of a warp's 32 lanes together, or of groups of L neighbouring lanes, L a power of two; prefix sums over a
/// thread block; and the division of a batch's blocks among warps.
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

/// The thread block's dynamic shared memory, whose size its launch sets.
template <class T>
__device__ inline T* dynamic_shared() {
#ifdef __CUDACC__
  extern __shared__ __align__(16) unsigned char memory[];
#else
  unsigned char* const memory = testing::emulated::dynamic_shared_memory;
#endif
  return reinterpret_cast<T*>(memory);
}

/// Returns `value`, which must be the same in all lanes, so that the compiler makes branches on it uniform.
__device__ inline std::uint32_t uniform(std::uint32_t value) { return __shfl_sync(all_lanes, value, 0); }

/// Adds `count` to a counter once for the warp, and returns the counter's previous value to all lanes.
__device__ inline std::uint32_t take_for_warp(std::uint32_t* counter, std::uint32_t count) {
  std::uint32_t taken = 0;
  if (lane_id() == 0) taken = atomicAdd(counter, count);
  return __shfl_sync(all_lanes, taken, 0);
}

/// The sum of the values of this lane and of the lanes before it in its group of L lanes.
template <int L = lanes_per_warp>
__device__ inline std::uint32_t inclusive_sum(std::uint32_t value) {
#pragma unroll
  for (unsigned distance = 1; distance < L; distance *= 2) {
#ifdef __CUDACC__
    // Unlike the intrinsic, the instruction also tells whether the other lane is in the group.
    asm volatile(
        "{ .reg .u32 other; .reg .pred there;  shfl.sync.up.b32 other|there, %0, %1, %2, 0xffffffff;  @there add.u32 "
        "%0, %0, other; }"
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
/// Whether `holds` is true in all lanes of the group.
template <int L = lanes_per_warp>
__device__ inline bool all_of_group(bool holds) {
  if constexpr (L == lanes_per_warp) return __all_sync(all_lanes, holds);
  const unsigned group = ((1u << L % lanes_per_warp) - 1) << (lane_id() & ~(L - 1u));
  return (__ballot_sync(all_lanes, holds) & group) == group;
}

/// The maximum, or the sum, of all lanes' values.
__device__ inline std::uint32_t warp_max(std::uint32_t value) { return __reduce_max_sync(all_lanes, value); }
__device__ inline std::uint32_t warp_sum(std::uint32_t value) { return __reduce_add_sync(all_lanes, value); }

/// last_not_above() in [begin, end) with 32 probes at a time; first(begin) must not be above `number`. Called by a
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

/// The maximum of all groups' values, which must be equal in all lanes of a group.
template <int L>
__device__ inline std::uint32_t max_of_groups(std::uint32_t value) {
  return L == lanes_per_warp ? value : warp_max(value);
}

/// Divides the `blocks` blocks of a batch's lists evenly among all warps, and calls visit(list, block of the list) for
/// this warp's blocks. List i's blocks are numbered from first_block(i) on.
template <class FirstBlock, class Visit>
__device__ inline void for_own_blocks(std::uint64_t blocks, std::uint32_t num_lists, FirstBlock&& first_block,
                                      Visit&& visit) {
  const std::uint64_t warps = std::uint64_t{gridDim.x} * (blockDim.x / lanes_per_warp);
  const std::uint64_t own = (std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x) / lanes_per_warp;
  const auto begin = static_cast<std::uint32_t>(blocks * own / warps);
  const auto end = static_cast<std::uint32_t>(blocks * (own + 1) / warps);
  if (begin == end) return;
  std::uint32_t number = last_not_above(num_lists, begin, first_block);
  for (std::uint32_t block = begin; block < end; ++block) {
    while (number + 1 < num_lists && first_block(number + 1) <= block) ++number;
    visit(number, block - first_block(number));
  }
}

/// Divides the `entries` entries of a batch's lists among all threads, and calls visit(list, entry, entry of the list)
/// for this thread's. List i's entries are numbered from first_entry(i) on.
template <class FirstEntry, class Visit>
__device__ inline void for_own_entries(std::uint64_t entries, std::uint32_t num_lists, FirstEntry&& first_entry,
                                       Visit&& visit) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < entries; i += step) {
    // The last list whose entries begin at i or before. A list without entries begins where the next one does.
    const std::uint32_t number = last_not_above(num_lists, i, first_entry);
    visit(number, i, static_cast<std::uint32_t>(i - first_entry(number)));
  }
}

/// Prefix sums over the threads of a thread block of `threads` threads.
template <unsigned threads>
class ThreadBlockScan {
 public:
  static constexpr unsigned warps = threads / lanes_per_warp;
  struct TempStorage {
    std::uint32_t sums[warps];
  };
  __device__ explicit ThreadBlockScan(TempStorage& temp) : temp_(temp) {}

  /// Returns the sum of the values of the threads before this one; sets `total` to the sum of all. Called by all
  /// threads.
  __device__ std::uint32_t exclusive_sum(std::uint32_t value, std::uint32_t& total) const {
    const unsigned warp = threadIdx.x / lanes_per_warp;
    const std::uint32_t end = inclusive_sum(value);
    __syncthreads();  // all threads must have read the sums of the previous call
    if (lane_id() == lanes_per_warp - 1) temp_.sums[warp] = end;
    __syncthreads();
    std::uint32_t before = 0;
    total = 0;
#pragma unroll
    for (unsigned i = 0; i < warps; ++i) {
      if (i < warp) before += temp_.sums[i];
      total += temp_.sums[i];
    }
    return before + end - value;
  }

 private:
  TempStorage& temp_;
};

}  // namespace quern::gpu
