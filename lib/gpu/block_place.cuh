#pragma once
#include "quern/gpu/block_place.hpp"
#include "quern/gpu/warp.cuh"

namespace quern::gpu {

/// From gaps to docIDs: a sum over the lane's values, one over the lanes (D2's localized prefix sum).
template <int V>
__device__ inline void sum_up(std::uint32_t before, std::uint32_t (&values)[V]) {
  std::uint32_t sum = 0;
#pragma unroll
  for (int i = 0; i < V; ++i) values[i] = sum += values[i] + 1;
  const std::uint32_t others = before + inclusive_sum(sum) - sum;
#pragma unroll
  for (int i = 0; i < V; ++i) values[i] += others;
}

/// A warp's room in shared memory: one number for each posting of a block, and the values of a stream of exceptions.
template <int V>
struct WarpRoom {
  static constexpr unsigned stream_values = 256;
  static constexpr unsigned size = V * lanes_a_warp + stream_values;
  std::uint32_t* values;

  __device__ std::uint32_t* stream() const { return values + V * lanes_a_warp; }

  __device__ void clear() const {
    __syncwarp();
#pragma unroll
    for (int i = 0; i < V; ++i) values[i * lanes_a_warp + lane_id()] = 0;
    __syncwarp();
  }
  /// Adds to each of the lane's values what stands at its place.
  __device__ void add_to(std::uint32_t (&out)[V]) const {
    __syncwarp();
#pragma unroll
    for (int i = 0; i < V; ++i) out[i] += values[lane_id() * V + i];
  }
};

}  // namespace quern::gpu
