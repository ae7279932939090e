#pragma once
#include "quern/gpu/decode/block_place.cuh"

/// Slots packed as in lib/codec/bit_packing.hpp, read by a group of lanes: lane l takes the V values from l * V on.
namespace quern::gpu {

/// The low `width` bits, width 0 to 32.
__device__ inline std::uint32_t mask_of(unsigned width) { return __funnelshift_lc(0, 1, width) - 1; }

/// The value of `width` bits (0 to 32) at `bit`; also reads the word after the value's first.
__device__ inline std::uint32_t value_at(const std::uint32_t* words, std::uint32_t bit, unsigned width) {
  const std::uint32_t* word = words + (bit >> 5);
  return __funnelshift_r(word[0], word[1], bit) & mask_of(width);
}

/// This lane's values of n, fetched first and unpacked later, so that other work can overlap. The caller has checked
/// that n values exist; reads at most two words after the group's last value. Values from number n on are undefined.
template <int V, int L = lanes_per_warp>
class Slots {
 public:
  __device__ Slots(const std::uint32_t* words, std::uint32_t first_bit, unsigned width, unsigned n)
      : words_(words), first_bit_(first_bit), width_(width), n_(n), widest_(max_of_groups<L>(width)) {
    if (widest_ == 0 || widest_ > 8) return;
#pragma unroll
    for (int fetch = 0; fetch < fetches; ++fetch) {
      const std::uint32_t* word = words + (fetch_bit(fetch) >> 5);
#pragma unroll
      for (int i = 0; i < (V > 4 ? 3 : 2); ++i) fetched_[fetch][i] = word[i];
    }
  }

  __device__ void take(std::uint32_t (&out)[V]) const {
    if (widest_ == 0) {
#pragma unroll
      for (int i = 0; i < V; ++i) out[i] = 0;
    } else if (widest_ <= 8) {
      take_fetched(out);
    } else {
      take_single(out);
    }
  }

 private:
  /// Up to 8 slots of up to 8 bits are fetched as three words.
  static constexpr int fetch_values = std::min(V, 8), fetches = V / fetch_values;

  /// Lanes without values read the first lane's.
  __device__ std::uint32_t fetch_bit(int fetch) const {
    const unsigned first = lane_of_group<L>() * V + fetch * fetch_values;
    return first_bit_ + (first < n_ ? first * width_ : 0);
  }

  __device__ void take_fetched(std::uint32_t (&out)[V]) const {
    const std::uint32_t mask = mask_of(width_);
#pragma unroll
    for (int fetch = 0; fetch < fetches; ++fetch) {
      const std::uint32_t* fetched = fetched_[fetch];
      const std::uint32_t bit = fetch_bit(fetch);
      std::uint32_t low = __funnelshift_r(fetched[0], fetched[1], bit), high = 0;
      if (V > 4) high = __funnelshift_rc(low, __funnelshift_r(fetched[1], fetched[2], bit), 4 * width_);
#pragma unroll
      for (int i = 0; i < fetch_values; ++i) {
        std::uint32_t& window = i < 4 ? low : high;
        out[fetch * fetch_values + i] = window & mask;
        window >>= width_;
      }
    }
  }
  __device__ void take_single(std::uint32_t (&out)[V]) const {
    const unsigned first = lane_of_group<L>() * V;
#pragma unroll
    for (int i = 0; i < V; ++i)
      out[i] = first + i < n_ ? value_at(words_, first_bit_ + (first + i) * width_, width_) : 0;
  }

  const std::uint32_t* words_;
  std::uint32_t first_bit_;
  unsigned width_, n_;
  unsigned widest_;  ///< maximum of all groups, which must take the same branch
  std::uint32_t fetched_[fetches][3] = {};
};

/// Reads this lane's values of n at once.
template <int V>
__device__ inline void read_slots(const std::uint32_t* words, std::uint32_t first_bit, unsigned width, unsigned n,
                                  std::uint32_t (&out)[V]) {
  Slots<V>(words, first_bit, width, n).take(out);
}

/// A block's exceptions of one stream.
struct Exceptions {
  unsigned count = 0;
  unsigned width = 0;  ///< of the slots
  unsigned n = 0;      ///< postings of the block
};

/// Limit of position gaps, beyond any block, so that sums of a warp's gaps stay below 2^32.
inline constexpr std::uint32_t far_gap = 1u << 20;

/// Writes the exceptions' addends plus 1 to their places in `out`, a lane one at a time; get(first, own, gap, high)
/// gives it exception `own`, which may not exist, of those from `first` on. `max_count`: the maximum of all groups.
/// False if a position of this lane is not below n.
template <int L, class Get>
__device__ inline bool put_each_addend(unsigned max_count, const Exceptions& exceptions, std::uint32_t* out,
                                       Get&& get) {
  const std::uint32_t factor = __funnelshift_lc(0, 1, exceptions.width);
  std::uint32_t before = 0xffffffffu;
  bool sound = true;
  for (unsigned first = 0; first < max_count; first += L) {
    const unsigned own = first + lane_of_group<L>();
    const bool there = own < exceptions.count;
    std::uint32_t gap = 0, high = 0;
    get(first, own, gap, high);
    const std::uint32_t position = before + inclusive_sum<L>(there ? min(gap, far_gap) + 1 : 0);
    if (there && position < exceptions.n)
      out[position] = high * factor + (factor + 1);
    else
      sound = sound && !there;
    before = last_lane<L>(position);
  }
  return sound;
}

/// Reads K position gaps from number `own` on; undefined after the last. If K is 4, `values` is aligned to 16 bytes.
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

/// Writes the exceptions' addends plus 1 to their places in `out`. `values`: the position gaps, each below 2^29, then
/// the high parts. A lane takes K neighbouring ones at a time. `max_count`: the maximum of all groups. `before`: the
/// previous position, updated if there are `more`. False if a position of this lane is not below n.
template <int K, int L>
__device__ inline bool put_addends(const std::uint32_t* values, unsigned max_count, const Exceptions& exceptions,
                                   std::uint32_t* out, std::uint32_t& before, bool more) {
  static_assert(K <= 4);
  // (high + 1) << width, and 1.
  const std::uint32_t factor = __funnelshift_lc(0, 1, exceptions.width);
  bool sound = true;
  for (unsigned first = 0; first < max_count; first += K * L) {
    const unsigned own = first + lane_of_group<L>() * K;
    int left = static_cast<int>(exceptions.count) - static_cast<int>(own);
    std::uint32_t places[K], highs[K], sum = 0;
    read_gaps<K>(values, own, exceptions.count, places);
#pragma unroll
    for (int i = 0; i < K; ++i) highs[i] = i < left ? values[exceptions.count + own + i] : 0;
#pragma unroll
    for (int i = 0; i < K; ++i) places[i] = sum += places[i] + 1;
    const std::uint32_t end = inclusive_sum<L>(sum), others = before + end - sum;
    // The lane's places rise unless they exceed 2^32: if the first and the last are below n, so are those between.
    std::uint32_t last = places[0];
#pragma unroll
    for (int i = 1; i < K; ++i)
      if (i < left) last = places[i];
    if (left > 0 && max(others + places[0], others + last) >= exceptions.n) {
      sound = false;
      left = 0;
    }
#pragma unroll
    for (int i = 0; i < K; ++i)
      if (i < left) out[others + places[i]] = highs[i] * factor + (factor + 1);
    if (more || first + K * L < max_count) before += last_lane<L>(end);
  }
  return sound;
}

}  // namespace quern::gpu
