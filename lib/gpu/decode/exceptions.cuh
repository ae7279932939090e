#pragma once
#include "quern/gpu/decode/block_place.cuh"

/// Exceptions that have position gaps, put at their places by a group of L lanes per block.
namespace quern::gpu {

/// A block's exceptions of one stream.
struct Exceptions {
  unsigned count = 0;
  unsigned width = 0;  ///< of the slots
  unsigned n = 0;      ///< postings of the block
};

/// K neighbouring position gaps from number `own` on; undefined after the last. Four are read at once: `values` is
/// aligned to 16 bytes then.
template <int K>
__device__ inline void read_gaps(const std::uint32_t* values, unsigned own, unsigned count, std::uint32_t (&gaps)[K]) {
  if constexpr (K == 4) {
    const uint4 four = *reinterpret_cast<const uint4*>(values + own);
    gaps[0] = four.x, gaps[1] = four.y, gaps[2] = four.z, gaps[3] = four.w;
  } else {
#pragma unroll
    for (int i = 0; i < K; ++i) gaps[i] = own + i < count ? values[own + i] : 0;
  }
}

/// Puts what exceptions add to their slots, and 1, at their places in `out`. `values` are the position gaps, each below
/// 2^29, then the high parts. A lane takes K neighbouring ones at a time. `most` is the maximum count of all groups,
/// `before` the previous position, which is updated if there are `more`. False if a position that this lane took is not
/// below n.
template <int K, int L>
__device__ inline bool put_parts(const std::uint32_t* values, unsigned most, const Exceptions& of, std::uint32_t* out,
                                 std::uint32_t& before, bool more) {
  static_assert(K <= 4);
  // (high + 1) << width, and 1.
  const std::uint32_t factor = __funnelshift_lc(0, 1, of.width);
  bool sound = true;
  for (unsigned first = 0; first < most; first += K * L) {
    const unsigned own = first + lane_of_group<L>() * K;
    int left = static_cast<int>(of.count) - static_cast<int>(own);
    std::uint32_t places[K], highs[K], sum = 0;
    read_gaps<K>(values, own, of.count, places);
#pragma unroll
    for (int i = 0; i < K; ++i) highs[i] = i < left ? values[of.count + own + i] : 0;
#pragma unroll
    for (int i = 0; i < K; ++i) places[i] = sum += places[i] + 1;
    const std::uint32_t end = inclusive_sum<L>(sum), others = before + end - sum;
    // The lane's places rise unless they exceed 2^32: if the first and the last are below n, so are those between.
    std::uint32_t last = places[0];
#pragma unroll
    for (int i = 1; i < K; ++i)
      if (i < left) last = places[i];
    if (left > 0 && max(others + places[0], others + last) >= of.n) {
      sound = false;
      left = 0;
    }
#pragma unroll
    for (int i = 0; i < K; ++i)
      if (i < left) out[others + places[i]] = highs[i] * factor + (factor + 1);
    if (more || first + K * L < most) before += last_lane<L>(end);
  }
  return sound;
}

}  // namespace quern::gpu
