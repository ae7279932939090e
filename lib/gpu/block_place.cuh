#pragma once
#include "quern/gpu/block_place.hpp"
#include "quern/gpu/warp.cuh"

namespace quern::gpu {

/// Rows of up to 32 neighbouring blocks of a list that has rows, one a lane, so that they come in whole lines.
class BlockRows {
 public:
  /// From block `first` on, which is below `end`, at most the list's rows.
  __device__ BlockRows(const IndexView& index, const ListView& list, std::uint32_t first, std::uint32_t end)
      : list_(opaque(index.postings + list.first_word)),
        block_size_(index.block_size),
        postings_(list.df - first * block_size_),
        blocks_(min(end - first, lanes_a_warp)) {
    const std::uint32_t block = first + min(lane_id(), blocks_ - 1);
    const std::uint64_t row = list.first_row + block;
    begin_ = index.block_offset[row];
    const std::uint32_t behind = block + 1 < list.rows ? index.block_offset[row + 1] : list.words;
    size_ = begin_ < behind && behind <= list.words ? behind - begin_ : 0;
    if (size_ == 0) begin_ = 0;
    before_ = block > 0 ? index.block_last[row - 1] : 0xffffffffu;
    last_ = index.block_last[row];
  }

  std::uint32_t __device__ blocks() const { return blocks_; }
  /// Postings of all blocks from the i-th of these on.
  std::uint32_t __device__ postings_from(std::uint32_t i) const {
    return min(postings_, blocks_ * block_size_) - i * block_size_;
  }

  /// The place of the i-th; i may differ from lane to lane. Without postings where there is no such block.
  __device__ BlockPlace place(std::uint32_t i) const {
    BlockPlace place;
    place.list = list_;
    place.size = __shfl_sync(all_lanes, size_, i);
    place.words = list_ + __shfl_sync(all_lanes, begin_, i);
    place.before = __shfl_sync(all_lanes, before_, i);
    place.last = __shfl_sync(all_lanes, last_, i);
    place.has_row = true;
    place.n = i < blocks_ ? min(postings_ - i * block_size_, block_size_) : 0;
    if (place.n == 0) place.size = 0;
    return place;
  }

 private:
  /// Keeps the compiler from adding the parts of an address anew for each block.
  __device__ static const std::uint32_t* opaque(const std::uint32_t* address) {
    asm("" : "+l"(address));
    __builtin_assume(__isGlobal(address));
    return address;
  }

  const std::uint32_t* list_;
  std::uint32_t block_size_, postings_, blocks_;
  std::uint32_t begin_, size_, before_, last_;  ///< of the lane's block
};

/// From gaps to docIDs: a sum over the lane's values, one over the lanes of the block (D2's localized prefix sum).
template <int V, int L = lanes_a_warp>
__device__ inline void sum_up(std::uint32_t before, std::uint32_t (&values)[V]) {
  std::uint32_t sum = 0;
#pragma unroll
  for (int i = 0; i < V; ++i) values[i] = sum += values[i];
  sum += V;
  const std::uint32_t others = before + inclusive_sum<L>(sum) - sum;
#pragma unroll
  for (int i = 0; i < V; ++i) values[i] += others + (i + 1);
}

/// A warp's room in shared memory, made of `size` words of which it takes as many as can be read four at a time: one
/// number for each posting of its block, or blocks, a table, and the values of streams of exceptions.
template <int V>
struct WarpRoom {
  static constexpr unsigned postings = V * lanes_a_warp, table_words = 256;
  /// Values of streams that may be written at a time; up to 63 are written behind them.
  static constexpr unsigned most_values = 256;
  static constexpr unsigned size = postings + table_words + most_values + 64 + 4;
  std::uint32_t* values;

  __device__ explicit WarpRoom(std::uint32_t* words)
      : values(words + (-(reinterpret_cast<std::uintptr_t>(words) / sizeof *words) & 3)) {}

  __device__ std::uint32_t* table() const { return values + postings; }
  __device__ std::uint32_t* stream() const { return table() + table_words; }

  __device__ void clear() const {
    __syncwarp();
#pragma unroll
    for (int i = 0; i < V / 4; ++i) reinterpret_cast<uint4*>(values)[i * lanes_a_warp + lane_id()] = uint4{};
    __syncwarp();
  }
  /// Adds to each of the lane's values what stands at its place.
  __device__ void add_to(std::uint32_t (&out)[V]) const {
    __syncwarp();
#pragma unroll
    for (int i = 0; i < V; i += 4) {
      const uint4 parts = reinterpret_cast<const uint4*>(values)[(lane_id() * V + i) / 4];
      out[i] += parts.x;
      out[i + 1] += parts.y;
      out[i + 2] += parts.z;
      out[i + 3] += parts.w;
    }
  }

  /// Writes the first `count` of all lanes' values to `to`, which is a multiple of 16 bytes, by whole lines of memory:
  /// stores of half a line take more than twice the time.
  __device__ void write(const std::uint32_t (&own)[V], std::uint32_t count, std::uint32_t* to) const {
    auto* fours = reinterpret_cast<uint4*>(values);
#pragma unroll
    for (int i = 0; i < V; i += 4)
      fours[four_place((lane_id() * V + i) / 4)] = make_uint4(own[i], own[i + 1], own[i + 2], own[i + 3]);
    __syncwarp();
#pragma unroll
    for (int i = 0; i < V / 4; ++i) {
      const unsigned four = i * lanes_a_warp + lane_id();
      if (4 * four + 4 <= count) __stcs(reinterpret_cast<uint4*>(to) + four, fours[four_place(four)]);
    }
    const unsigned rest = count & ~3u;
    if (rest != count && lane_id() < count - rest) to[rest + lane_id()] = values[4 * four_place(rest / 4) + lane_id()];
    __syncwarp();
  }

 private:
  /// Where four values stand, so that neither lanes that write theirs nor lanes that read neighbouring ones meet in a
  /// bank.
  __device__ static unsigned four_place(unsigned four) { return V == 4 ? four : four ^ (four / 8 % (V / 4)); }
};

}  // namespace quern::gpu
