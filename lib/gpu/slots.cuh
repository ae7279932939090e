#pragma once
#include <cstdint>

/// Values packed as lib/codec/bit_packing.hpp says, read by the lanes of a warp: lane l takes the V values from l * V
/// on.
namespace quern::gpu {

__device__ inline std::uint32_t mask_of(unsigned width) { return width >= 32 ? 0xffffffffu : (1u << width) - 1; }

/// The value of `width` bits (0 to 32) at `bit`; reads the word behind the value's first.
__device__ inline std::uint32_t value_at(const std::uint32_t* words, std::uint32_t bit, unsigned width) {
  const std::uint32_t* word = words + (bit >> 5);
  return __funnelshift_r(word[0], word[1], bit) & mask_of(width);
}

/// This lane's values of n; those behind the n-th are whatever stands there. Reads at most two words past the last
/// value of the warp: the caller has made sure that n values are there, and lanes behind them read nothing.
template <int V>
__device__ inline void read_slots(const std::uint32_t* words, std::uint32_t first_bit, unsigned width, unsigned n,
                                  std::uint32_t (&out)[V]) {
  const unsigned first = lane_id() * V;
  const std::uint32_t mask = mask_of(width);
  if (first >= n) {
#pragma unroll
    for (int i = 0; i < V; ++i) out[i] = 0;
    return;
  }
  const std::uint32_t bit = first_bit + first * width;
  const std::uint32_t* word = words + (bit >> 5);
  if (V * width <= 32) {
    const std::uint32_t window = __funnelshift_r(word[0], word[1], bit);
#pragma unroll
    for (int i = 0; i < V; ++i) out[i] = (i == 0 ? window : window >> (i * width)) & mask;
  } else if (V * width <= 64) {
    const std::uint32_t low = __funnelshift_r(word[0], word[1], bit), high = __funnelshift_r(word[1], word[2], bit);
    const std::uint64_t window = std::uint64_t{high} << 32 | low;
#pragma unroll
    for (int i = 0; i < V; ++i) out[i] = static_cast<std::uint32_t>(window >> (i * width)) & mask;
  } else {
#pragma unroll
    for (int i = 0; i < V; ++i) {
      const std::uint32_t at = bit + i * width;
      const std::uint32_t* pair = words + (at >> 5);
      out[i] = first + i < n ? __funnelshift_r(pair[0], pair[1], at) & mask : 0;
    }
  }
}

}  // namespace quern::gpu
