#pragma once
#include "quern/codec/simple16.hpp"
#include "quern/gpu/device/warp.cuh"

/// Simple16 words, cut by a warp; formats/simple16.md is the page.
namespace quern::gpu::simple16 {

/// For each way and value: by how much the word is shifted to the left, and then << 8 to the right, to leave the value.
/// At place 31 of a way: how many values a word holds.
struct WarpTable {
  static constexpr unsigned words = 256;
  std::uint16_t entries[2 * words];
};
constexpr WarpTable make_warp_table() {
  WarpTable table{};
  for (unsigned way = 0; way < 16; ++way) {
    unsigned i = 0, bit = 0;
    for (const quern::simple16::Run& run : quern::simple16::ways[way])
      for (unsigned j = 0; j < run.count; ++j, bit += run.width)
        table.entries[way * 32 + i++] = static_cast<std::uint16_t>((32 - bit - run.width) | (32 - run.width) << 8);
    table.entries[way * 32 + 31] = quern::simple16::counts[way];
  }
  return table;
}
static __device__ const WarpTable table_of_ways = make_warp_table();

/// Copies the table to a warp's shared memory, where lanes that look up different ways do so fastest.
__device__ inline void copy_table(std::uint32_t* to) {
  const auto* from = reinterpret_cast<const std::uint32_t*>(table_of_ways.entries);
  for (unsigned i = lane_id(); i < WarpTable::words; i += lanes_per_warp) to[i] = from[i];
  __syncwarp();
}

__device__ inline std::uint32_t cut(std::uint32_t word, unsigned entry) {
  return __funnelshift_r(__funnelshift_l(0, word, entry), 0, entry >> 8);
}

/// Up to 32 words, one a lane from the first on, whose values are counted through. Reads up to 64 bytes behind its
/// warp's copy of the table.
class WarpWords {
 public:
  /// `table` is the warp's copy; `size` the words, 32 at most taken.
  __device__ WarpWords(const std::uint16_t* table, std::uint32_t word, std::uint32_t size)
      : table_(table), word_(word) {
    const std::uint32_t row = word >> 28 << 5;
    const bool there = lane_id() < size;
    const std::uint32_t count = there ? table[row + 31] : 0;
    end_ = inclusive_sum(count);
    size_ = last_lane(end_);
    begin_ = there ? end_ - count : 0xffffffffu;
    row_ = static_cast<std::int32_t>(row - begin_);
  }
  /// Values in all words; and the numbers of this lane's first value, and of the one behind its last.
  __device__ std::uint32_t size() const { return size_; }
  __device__ std::uint32_t begin() const { return begin_; }
  __device__ std::uint32_t end() const { return end_; }

  /// Writes the first `count` values, of which there are so many, and up to 63 more of anything. Two times 32 at a
  /// time: each lane finds its values' words by counting those that begin before.
  __device__ void write(std::uint32_t count, std::uint32_t* out) const {
    const unsigned up_to_own = 0xffffffffu >> (31 - lane_id());
    const std::uint16_t* entries = table_ + lane_id();
    unsigned before = 0xffffffffu;
    std::uint32_t begin = begin_;
    out += lane_id();
    for (std::uint32_t first = 0; first < count; first += 64) {
      const unsigned near = __reduce_or_sync(all_lanes, __funnelshift_lc(0, 1, begin));
      const unsigned far = __reduce_or_sync(all_lanes, __funnelshift_lc(0, 1, begin - 32));
      const unsigned near_place = before + __popc(near & up_to_own);
      before += __popc(near);
      const unsigned far_place = before + __popc(far & up_to_own);
      before += __popc(far);
      const std::int32_t near_row = __shfl_sync(all_lanes, row_, near_place);
      const std::int32_t far_row = __shfl_sync(all_lanes, row_, far_place);
      const std::uint32_t near_word = __shfl_sync(all_lanes, word_, near_place);
      const std::uint32_t far_word = __shfl_sync(all_lanes, word_, far_place);
      out[0] = cut(near_word, entries[near_row]);
      out[32] = cut(far_word, entries[far_row + 32]);
      begin -= 64;
      entries += 64;
      out += 64;
    }
  }

 private:
  const std::uint16_t* table_;
  std::uint32_t word_, begin_, end_, size_;
  std::int32_t row_;  ///< a value's number and this make its place in the table
};

/// Writes the first `count` values of a stream of any length, and up to 63 more of anything. False where the words end
/// before.
__device__ inline bool write_values(const std::uint16_t* table, const std::uint32_t* from, std::uint32_t size,
                                    std::uint32_t count, std::uint32_t* out) {
  std::uint32_t done = 0;
  for (std::uint32_t first = 0; first < size && done < count; first += lanes_per_warp) {
    const WarpWords words(table, from[min(first + lane_id(), size - 1)], size - first);
    words.write(min(words.size(), count - done), out + done);
    done += words.size();
  }
  return done >= count;
}

}  // namespace quern::gpu::simple16
