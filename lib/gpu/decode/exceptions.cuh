#pragma once
#include "quern/gpu/decode/block_place.cuh"
#include "quern/gpu/decode/simple16.cuh"

/// NewPFD's exceptions, put at their places by a group of L lanes per block.
namespace quern::gpu {

/// A block's exceptions of one stream.
struct Exceptions {
  const std::uint32_t* words = nullptr;
  std::uint32_t size = 0;  ///< in words, possibly more than the values take
  unsigned count = 0;
  unsigned width = 0;  ///< of the slots
  unsigned n = 0;      ///< postings of the block
};

/// A warp's copy of the table of Simple16, and the function that makes it.
template <int V>
__device__ inline const std::uint16_t* table_of(const WarpBuffer<V>& buffer) {
  return reinterpret_cast<const std::uint16_t*>(buffer.table());
}
template <int V>
__device__ inline void make_table(const WarpBuffer<V>& buffer) {
  static_assert(WarpBuffer<V>::table_words == simple16::Table::words);
  simple16::copy_table(buffer.table());
}

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

/// The same for the exceptions of one block by the whole warp.
template <int V>
__device__ inline bool put_exceptions_of_one(const Exceptions& of, const WarpBuffer<V>& buffer, std::uint32_t* out) {
  const bool whole =
      simple16::write_values(table_of(buffer), as_it_is(of.words), of.size, 2 * of.count, buffer.stream());
  __syncwarp();
  bool sound = whole;
  std::uint32_t before = 0xffffffffu;
  if (whole && of.count <= 2 * lanes_per_warp)
    sound = put_parts<2, lanes_per_warp>(buffer.stream(), of.count, of, out, before, false);
  else if (whole)
    sound = put_parts<4, lanes_per_warp>(buffer.stream(), of.count, of, out, before, false);
  __syncwarp();
  return __all_sync(all_lanes, sound);
}

/// The words of all groups' exceptions one after another in the lanes of a warp.
template <int L>
class GroupedWords {
 public:
  __device__ explicit GroupedWords(const Exceptions& of) {
    std::uint32_t end = of.size;
#pragma unroll
    for (unsigned distance = L; distance < lanes_per_warp; distance *= 2) {
      const std::uint32_t other = __shfl_up_sync(all_lanes, end, distance);
      if (lane_id() >= distance) end += other;
    }
    first_ = end - of.size;
    last_ = end - 1;
    total_ = last_lane(end);
  }
  __device__ bool fit() const { return total_ > 0 && total_ <= lanes_per_warp; }
  __device__ unsigned first() const { return first_; }
  __device__ unsigned last() const { return last_; }

  __device__ simple16::WarpWords load(const Exceptions& of, const std::uint16_t* table) const {
    const unsigned lane = min(lane_id(), total_ - 1);
    unsigned group = 0;
#pragma unroll
    for (unsigned first = L; first < lanes_per_warp; first += L) group += lane >= __shfl_sync(all_lanes, first_, first);
    const auto address = __shfl_sync(all_lanes, reinterpret_cast<unsigned long long>(of.words), group * L);
    const std::uint32_t place = lane - __shfl_sync(all_lanes, first_, group * L);
    return {table, reinterpret_cast<const std::uint32_t*>(address)[place], total_};
  }

 private:
  std::uint32_t first_, last_, total_;
};

/// One group after the other; `of` and the result are each group's own.
template <int V, int L>
__device__ inline bool put_exceptions_in_turn(const Exceptions& of, const WarpBuffer<V>& buffer) {
  bool sound = true;
  for (unsigned group = 0; group < lanes_per_warp / L; ++group) {
    const unsigned lane = group * L;
    Exceptions one;
    one.words = reinterpret_cast<const std::uint32_t*>(
        __shfl_sync(all_lanes, reinterpret_cast<unsigned long long>(of.words), lane));
    one.size = __shfl_sync(all_lanes, of.size, lane);
    one.count = __shfl_sync(all_lanes, of.count, lane);
    one.width = __shfl_sync(all_lanes, of.width, lane);
    one.n = __shfl_sync(all_lanes, of.n, lane);
    const bool own = put_exceptions_of_one<V>(one, buffer, buffer.values + group * V * L);
    if (group_of_lane<L>() == group) sound = own;
  }
  return sound;
}

/// Puts what a block's exceptions add, and 1, at their places in the group's part of the warp's buffer, 1 elsewhere.
/// False if a position is not below n or the words end too early. By all groups of a warp together.
template <int V, int L>
__device__ inline bool put_exceptions(Exceptions of, const WarpBuffer<V>& buffer) {
  buffer.set_to_one();
  if constexpr (L == lanes_per_warp) {
    return of.count == 0 || put_exceptions_of_one<V>(of, buffer, buffer.values);
  } else {
    if (warp_max(of.count) == 0) return true;
    of.size = of.count == 0 ? 0 : min(of.size, 2 * of.count);
    const GroupedWords<L> grouped(of);
    if (!grouped.fit()) return put_exceptions_in_turn<V, L>(of, buffer);
    const simple16::WarpWords words = grouped.load(of, table_of(buffer));
    if (words.size() > WarpBuffer<V>::max_values) return put_exceptions_in_turn<V, L>(of, buffer);
    words.write(words.size(), buffer.stream());
    const std::uint32_t begin = __shfl_sync(all_lanes, words.begin(), grouped.first());
    const std::uint32_t end = __shfl_sync(all_lanes, words.end(), grouped.last());
    const bool whole = of.size > 0 && end - begin >= 2 * of.count;
    const bool sound = whole || of.count == 0;
    if (!whole) of.count = 0;
    __syncwarp();
    std::uint32_t before = 0xffffffffu;
    const bool placed = put_parts<2, L>(buffer.stream() + (whole ? begin : 0), warp_max(of.count), of,
                                        buffer.values + group_of_lane<L>() * V * L, before, false);
    __syncwarp();
    return all_of_group<L>(sound && placed);
  }
}

}  // namespace quern::gpu
