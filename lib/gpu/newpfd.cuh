#pragma once
#include "quern/codec/newpfd_layout.hpp"
#include "quern/gpu/block_place.cuh"
#include "quern/gpu/simple16_table.hpp"
#include "quern/gpu/slots.cuh"

/// NewPFD blocks, decoded by a warp each; formats/newpfd.md is the page.
namespace quern::gpu {

namespace simple16 {

static __device__ const Table table = make_table();

/// Value i of a word.
__device__ inline std::uint32_t value_in(std::uint32_t word, unsigned i) {
  const unsigned entry = table.entries[word >> 28][i & 31];
  return word >> (entry & 31) & mask_of(entry >> 8);
}
__device__ inline unsigned values_of(std::uint32_t word) { return table.entries[word >> 28][31]; }

/// Up to 32 words of a stream, one a lane.
class WarpStream {
 public:
  __device__ WarpStream(const std::uint32_t* from, std::uint32_t size) {
    word_ = lane_id() < size ? from[lane_id()] : 0;
    const std::uint32_t count = lane_id() < size ? values_of(word_) : 0;
    const std::uint32_t end = inclusive_sum(count);
    size_ = last_lane(end);
    begin_ = lane_id() < size ? end - count : 0xffffffffu;
  }
  /// Values in these words.
  __device__ std::uint32_t size() const { return size_; }
  /// 32 neighbouring values, lane l that of number first + l. Behind the last: anything.
  __device__ std::uint32_t values(std::uint32_t first) const {
    // A bit for each word that begins here; what begins before is counted.
    const std::uint32_t from_first = begin_ - first;
    const unsigned begins = __reduce_or_sync(all_lanes, from_first < lanes_a_warp ? 1u << from_first : 0);
    const unsigned before = __popc(__ballot_sync(all_lanes, begin_ < first));
    const unsigned place = before + __popc(begins & (0xffffffffu >> (31 - lane_id()))) - 1;
    const std::uint32_t word = __shfl_sync(all_lanes, word_, place);
    const std::uint32_t begin = __shfl_sync(all_lanes, begin_, place);
    return value_in(word, first + lane_id() - begin);
  }

 private:
  std::uint32_t word_, begin_, size_;
};

/// Writes the first `count` values of a stream of any length; 32 words at a time. False where the words end before.
__device__ inline bool write_values(const std::uint32_t* from, std::uint32_t size, std::uint32_t count,
                                    std::uint32_t* out) {
  std::uint32_t done = 0;
  for (std::uint32_t word = 0; word < size && done < count; word += lanes_a_warp) {
    const WarpStream stream(from + word, size - word);
    const std::uint32_t there = min(stream.size(), count - done);
    for (std::uint32_t first = 0; first < there; first += lanes_a_warp) {
      const std::uint32_t value = stream.values(first);
      if (first + lane_id() < there) out[done + first + lane_id()] = value;
    }
    done += there;
  }
  __syncwarp();
  return done == count;
}

}  // namespace simple16

/// Puts up to 32 exceptions at their places, those of numbers `first` on; `begin` is the place behind the one before.
template <int V>
__device__ inline bool place_exceptions(std::uint32_t gap, std::uint32_t high, unsigned first, unsigned count,
                                        unsigned width, unsigned n, const WarpRoom<V>& room, std::uint32_t& begin) {
  const bool own = first + lane_id() < count;
  const std::uint32_t end = begin + inclusive_sum(own ? gap + 1 : 0);
  begin = last_lane(end);
  if (!own) return true;
  if (end - 1 >= n) return false;
  room.values[end - 1] = exception_part(high, width);
  return true;
}

/// Puts what the `count` exceptions of a stream add at their places in the warp's room, zeros elsewhere. False where a
/// position is not below n or the words end too early.
template <int V>
__device__ inline bool place_simple16_exceptions(const std::uint32_t* from, std::uint32_t size, unsigned count,
                                                 unsigned width, unsigned n, const WarpRoom<V>& room) {
  room.clear();
  std::uint32_t begin = 0;
  bool sound = true;
  const simple16::WarpStream stream(from, size);
  if (stream.size() >= 2 * count) {
    for (unsigned first = 0; first < count; first += lanes_a_warp) {
      const std::uint32_t gap = stream.values(first);
      const std::uint32_t high =
          2 * count <= lanes_a_warp ? __shfl_sync(all_lanes, gap, lane_id() + count) : stream.values(first + count);
      sound &= place_exceptions<V>(gap, high, first, count, width, n, room, begin);
    }
  } else {
    static_assert(2 * newpfd::max_exceptions <= WarpRoom<V>::stream_values);
    std::uint32_t* values = room.stream();
    sound = simple16::write_values(from, size, 2 * count, values);
    for (unsigned first = 0; sound && first < count; first += lanes_a_warp) {
      const unsigned i = min(first + lane_id(), count - 1);
      sound =
          __all_sync(all_lanes, place_exceptions<V>(values[i], values[count + i], first, count, width, n, room, begin));
    }
  }
  return __all_sync(all_lanes, sound);
}

template <int V>
class NewPfdDecoder {
 public:
  __device__ NewPfdDecoder(const IndexView&, const WarpRoom<V>& room) : room_(room) {}

  /// Takes a block. False where its parts don't lie within it.
  __device__ bool open(const BlockPlace& place) {
    place_ = place;
    if (place.size == 0) return false;
    header_ = newpfd::Header(place.words[0]);
    docid_exceptions_word_ = (32 + place.n * (header_.docid_width + header_.freq_width) + 31) / 32;
    freq_exceptions_word_ = docid_exceptions_word_ + header_.docid_exception_words;
    return freq_exceptions_word_ <= place.size;
  }

  /// This lane's docIDs.
  __device__ bool docids(std::uint32_t (&out)[V]) const {
    read_slots<V>(place_.words, 32, header_.docid_width, place_.n, out);
    bool sound = true;
    if (header_.docid_exceptions != 0) {
      sound = place_simple16_exceptions<V>(place_.words + docid_exceptions_word_, header_.docid_exception_words,
                                           header_.docid_exceptions, header_.docid_width, place_.n, room_);
      room_.add_to(out);
    }
    sum_up<V>(place_.before, out);
    return sound;
  }

  /// This lane's frequencies.
  __device__ bool freqs(std::uint32_t (&out)[V]) const {
    read_slots<V>(place_.words, 32 + place_.n * header_.docid_width, header_.freq_width, place_.n, out);
    bool sound = true;
    if (header_.freq_exceptions != 0) {
      sound = place_simple16_exceptions<V>(place_.words + freq_exceptions_word_, place_.size - freq_exceptions_word_,
                                           header_.freq_exceptions, header_.freq_width, place_.n, room_);
      room_.add_to(out);
    }
#pragma unroll
    for (int i = 0; i < V; ++i) ++out[i];
    return sound;
  }

  /// Each frequency can be read by itself (D5): none of the block's is an exception.
  __device__ bool has_single_freqs() const { return header_.freq_exceptions == 0; }
  /// Posting i's frequency; i may differ from lane to lane.
  __device__ std::uint32_t single_freq(std::uint32_t i) const {
    const std::uint32_t first = 32 + place_.n * header_.docid_width, width = header_.freq_width;
    return value_at(place_.words, first + i * width, width) + 1;
  }

 private:
  WarpRoom<V> room_;
  BlockPlace place_;
  newpfd::Header header_;
  std::uint32_t docid_exceptions_word_ = 0, freq_exceptions_word_ = 0;
};

}  // namespace quern::gpu
