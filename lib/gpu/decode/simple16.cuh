#pragma once
#include "quern/gpu/decode/simple16_table.hpp"
#include "quern/gpu/device/warp.cuh"

/// Simple16 words, cut by a warp; see formats/simple16.md.
namespace quern::gpu::simple16 {

static __device__ const Table device_table = make_table();

/// Copies the table to a warp's shared memory, where lanes that look up different ways do so fastest.
__device__ inline void copy_table(std::uint32_t* to) {
  const auto* from = reinterpret_cast<const std::uint32_t*>(device_table.cuts);
  for (unsigned i = lane_id(); i < Table::words; i += lanes_per_warp) to[i] = from[i];
  __syncwarp();
}

__device__ inline std::uint32_t cut(std::uint32_t word, unsigned shifts) {
  return __funnelshift_r(__funnelshift_l(0, word, shifts), 0, shifts >> 8);
}

/// At most 32 words, one per lane from the first on, whose values are numbered from 0. Reads up to 64 bytes after the
/// warp's copy of the table.
class WarpWords {
 public:
  /// `table` is the warp's copy; of `size` words at most 32 are taken.
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
  /// Values in all words; the number of this lane's first value; the number after its last.
  __device__ std::uint32_t size() const { return size_; }
  __device__ std::uint32_t begin() const { return begin_; }
  __device__ std::uint32_t end() const { return end_; }

  /// Writes the first `count` values, which exist, and up to 63 undefined ones after them. Works on 64 values at a
  /// time: each lane finds the word of its value by counting the words that begin before it.
  __device__ void write(std::uint32_t count, std::uint32_t* out) const {
    const unsigned up_to_own = 0xffffffffu >> (31 - lane_id());
    const std::uint16_t* cuts = table_ + lane_id();
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
      out[0] = cut(near_word, cuts[near_row]);
      out[32] = cut(far_word, cuts[far_row + 32]);
      begin -= 64;
      cuts += 64;
      out += 64;
    }
  }

 private:
  const std::uint16_t* table_;
  std::uint32_t word_, begin_, end_, size_;
  std::int32_t row_;  ///< plus a value's number: the value's place in the table
};

/// Writes the first `count` values of a stream of any length, and up to 63 undefined ones after them. False if the
/// words end earlier.
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
