#pragma once
#include "quern/gpu/decode/block_place.hpp"
#include "quern/gpu/device/warp.cuh"

namespace quern::gpu {

/// Keeps the compiler from recomputing the address at each use.
__device__ inline const std::uint32_t* as_it_is(const std::uint32_t* address) {
  asm("" : "+l"(address));
  __builtin_assume(__isGlobal(address));
  return address;
}

/// Prefetches the line at `address` into the L2 cache.
__device__ inline void prefetch([[maybe_unused]] const std::uint32_t* address) {
#ifdef __CUDACC__
  asm volatile("prefetch.global.L2 [%0];" ::"l"(address));
#endif
}

/// The rows of at most 32 neighbouring blocks of a list with rows, one per lane, so that reads cover whole lines.
class BlockRows {
 public:
  /// Rows [first, end) of the list; not empty.
  __device__ BlockRows(const IndexView& index, const ListView& list, std::uint32_t first, std::uint32_t end)
      : list_(as_it_is(index.postings + list.first_word)),
        tail_(as_it_is(index.postings + list.tail_word)),
        first_(first),
        front_blocks_(list.front_blocks),
        blocks_(min(end - first, lanes_per_warp)) {
    const std::uint32_t block = first + min(lane_id(), blocks_ - 1);
    const ListPart part = part_of(index, list, block);
    const std::uint64_t row = list.first_row + block;
    begin_ = index.block_offset[row];
    const std::uint32_t behind = block + 1 < list.rows ? index.block_offset[row + 1] : list.words;
    size_ = part.low <= begin_ && begin_ < behind && behind <= part.high ? behind - begin_ : 0;
    begin_ = size_ == 0 ? 0 : begin_ - part.low;
    prefetch(part.words + begin_);
    before_ = block > 0 ? index.block_last[row - 1] : 0xffffffffu;
    last_ = index.block_last[row];
    n_ = min(list.df - block * index.block_size, index.block_size);
    if (lane_id() >= blocks_) n_ = size_ = 0;
  }

  __device__ std::uint32_t blocks() const { return blocks_; }

  /// The place of block first + i, for i below 32, which may differ between lanes. Empty past the last block.
  __device__ BlockPlace place(std::uint32_t i) const {
    BlockPlace place;
    place.list = list_;
    place.size = __shfl_sync(all_lanes, size_, i);
    place.words = (first_ + i < front_blocks_ ? list_ : tail_) + __shfl_sync(all_lanes, begin_, i);
    place.before = __shfl_sync(all_lanes, before_, i);
    place.last = __shfl_sync(all_lanes, last_, i);
    place.n = __shfl_sync(all_lanes, n_, i);
    place.has_row = true;
    return place;
  }

 private:
  const std::uint32_t *list_, *tail_;  ///< see ListView
  std::uint32_t first_, front_blocks_, blocks_;
  std::uint32_t begin_;  ///< in its front or tail; this and all that follow are of the lane's block
  std::uint32_t size_, before_, last_, n_;
};

/// Sums distances (docid[i] - docid[i - 1], a gap plus 1) up to docIDs: over the lane's values, then over lanes.
template <int V, int L = lanes_per_warp>
__device__ inline void sum_up(std::uint32_t before, std::uint32_t (&values)[V]) {
  std::uint32_t sum = 0;
#pragma unroll
  for (int i = 0; i < V; ++i) values[i] = sum += values[i];
  const std::uint32_t others = before + inclusive_sum<L>(sum) - sum;
#pragma unroll
  for (int i = 0; i < V; ++i) values[i] += others;
}

/// A warp's buffer in shared memory of `size` words, aligned for reads of four words: a number per posting of its
/// blocks, and the values of a stream of exceptions.
template <int V>
struct WarpBuffer {
  static constexpr unsigned postings = V * lanes_per_warp;
  /// Maximum values of a stream at a time.
  static constexpr unsigned max_values = 256;
  static constexpr unsigned size = postings + max_values + 4;
  std::uint32_t* values;

  __device__ explicit WarpBuffer(std::uint32_t* words)
      : values(words + (-(reinterpret_cast<std::uintptr_t>(words) / sizeof *words) & 3)) {}

  __device__ std::uint32_t* stream() const { return values + postings; }

  /// Sets the numbers of all postings to 1, since distances and frequencies are stored minus 1.
  __device__ void set_to_one() const {
    __syncwarp();
#pragma unroll
    for (int i = 0; i < V / 4; ++i)
      reinterpret_cast<uint4*>(values)[i * lanes_per_warp + lane_id()] = make_uint4(1, 1, 1, 1);
    __syncwarp();
  }
  /// Adds the numbers of the lane's postings to their values.
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
};

/// The buffers of a thread block's warps, in shared memory.
template <int V, unsigned threads = plain_threads>
struct WarpBuffers {
  std::uint32_t words[threads / lanes_per_warp * WarpBuffer<V>::size];

  __device__ std::uint32_t* own() { return words + threadIdx.x / lanes_per_warp * WarpBuffer<V>::size; }
};

/// Writes a warp's values by whole memory lines, since stores of half a line take more than twice as long.
template <int V>
class LineWriter {
 public:
  __device__ explicit LineWriter(const WarpBuffer<V>& buffer)
      : fours_(reinterpret_cast<uint4*>(buffer.values)), own_(place(lane_id() * V / 4)), line_(place(lane_id())) {}

  /// Writes the first `count` of all lanes' values in order to `to`, aligned to 16 bytes. Overwrites the buffer.
  __device__ void write(const std::uint32_t (&own)[V], std::uint32_t count, std::uint32_t* to) const {
    __syncwarp();
#pragma unroll
    for (int i = 0; i < V / 4; ++i)
      fours_[own_ ^ i] = make_uint4(own[4 * i], own[4 * i + 1], own[4 * i + 2], own[4 * i + 3]);
    __syncwarp();
    if (count == WarpBuffer<V>::postings) {
#pragma unroll
      for (int i = 0; i < V / 4; ++i)
        __stcs(reinterpret_cast<uint4*>(to) + i * lanes_per_warp + lane_id(), fours_[i * lanes_per_warp + line_]);
    } else {
      const auto* values = reinterpret_cast<const std::uint32_t*>(fours_);
#pragma unroll 1
      for (unsigned i = lane_id(); i < count; i += lanes_per_warp) to[i] = values[4 * place(i / 4) + i % 4];
    }
    __syncwarp();
  }

 private:
  /// The place of four values: neither a lane's writes nor reads of neighbouring values conflict in a bank.
  __device__ static unsigned place(unsigned four) { return V == 4 ? four : four ^ (four / 8 % (V / 4)); }

  uint4* fours_;
  unsigned own_, line_;
};

}  // namespace quern::gpu
