#pragma once
#include "quern/gpu/device/warp.cuh"

namespace quern::gpu {

/// Sums over the threads of a block, `threads` of them.
template <unsigned threads>
class BlockScan {
 public:
  static constexpr unsigned warps = threads / lanes_per_warp;
  /// Shared memory for the warps' sums.
  struct Room {
    std::uint32_t sums[warps];
  };
  __device__ explicit BlockScan(Room& room) : room_(room) {}

  /// The sum of the values of the threads before this one; `total` becomes that of all. All threads call it; there is a
  /// barrier before it returns.
  __device__ std::uint32_t exclusive_sum(std::uint32_t value, std::uint32_t& total) const {
    const unsigned warp = threadIdx.x / lanes_per_warp;
    const std::uint32_t end = inclusive_sum(value);
    __syncthreads();  // the sums of the last call are read
    if (lane_id() == lanes_per_warp - 1) room_.sums[warp] = end;
    __syncthreads();
    std::uint32_t before = 0;
    total = 0;
#pragma unroll
    for (unsigned i = 0; i < warps; ++i) {
      if (i < warp) before += room_.sums[i];
      total += room_.sums[i];
    }
    return before + end - value;
  }

 private:
  Room& room_;
};

}  // namespace quern::gpu
