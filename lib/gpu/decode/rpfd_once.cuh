#pragma once
#include "quern/codec/rpfd_layout.hpp"
#include "quern/gpu/decode/exceptions.cuh"
#include "quern/gpu/decode/slots.cuh"

/// PForDelta blocks of recursion 1, the default, each decoded by a group of L lanes with V postings per lane;
/// formats/rpfd.md describes them. Exceptions are put at their places 4 * L at a time, whatever their number.
namespace quern::gpu {

/// The high parts of a stream's exceptions, or their position gaps: an array whose own exceptions are whole words.
struct RpfdLeaf {
  unsigned width = 0;
  std::uint32_t slots_bit = 0;
  std::uint32_t exceptions = 0;
  std::uint32_t raw_word = 0;  ///< of as many high parts, then as many position gaps
};

/// One stream of a block.
struct RpfdOnceStream {
  unsigned width = 0;
  std::uint32_t slots_bit = 0;
  std::uint32_t exceptions = 0;
  RpfdLeaf highs, gaps;
};

/// If its groups decode different blocks, all lanes of a warp call together.
template <int V, int L = lanes_per_warp>
class RpfdOnceDecoder {
 public:
  __device__ RpfdOnceDecoder(const IndexView&, const WarpBuffer<V>& buffer) : buffer_(buffer) {}

  /// Opens a block. False if its parts are not within it.
  __device__ bool open(const BlockPlace& place) {
    place_ = place;
    docids_ = freqs_ = RpfdOnceStream();
    if (place.size == 0) return false;
    std::uint32_t widths = place.list[0], low = place.words[0], high = place.words[1];
    if (L == lanes_per_warp) widths = uniform(widths), low = uniform(low), high = uniform(high);
    set_widths(docids_, widths);
    set_widths(freqs_, widths >> 3 * rpfd::code_bits);
    // All counts together have 60 bits at most.
    std::uint64_t window = std::uint64_t{high} << 32 | low;
    std::uint32_t bit = 0;
    bool sound = count(docids_, window, bit);
    sound &= count(freqs_, window, bit);
    sound = sound && place_parts(bit) <= place.size;
    if (!sound) docids_ = freqs_ = RpfdOnceStream();
    return sound;
  }

  /// This lane's docIDs.
  __device__ bool docids(std::uint32_t (&out)[V]) const {
    const bool sound = distances(out);
    sum_up<V, L>(place_.before, out);
    return sound;
  }
  /// Of this lane's documents from those before them.
  __device__ bool distances(std::uint32_t (&out)[V]) const { return values(docids_, out); }

  /// This lane's frequencies.
  __device__ bool freqs(std::uint32_t (&out)[V]) const { return values(freqs_, out); }

  /// Whether freq_at() can be called.
  static constexpr bool has_single_freqs = true;
  /// Prepares freq_at(), for which the warp's buffer is kept if there are exceptions. False if these are damaged.
  __device__ bool open_freqs() const {
    const bool sound = freqs_.exceptions == 0 || put_parts_of_all(freqs_);
    __syncwarp();
    return sound;
  }
  /// The frequency of posting i, which may differ from lane to lane, from its slot (Ding et al., section 6.1).
  __device__ std::uint32_t freq_at(std::uint32_t i) const {
    const std::uint32_t slot = value_at(place_.words, freqs_.slots_bit + i * freqs_.width, freqs_.width);
    return slot + (freqs_.exceptions == 0 ? 1 : buffer_.values[i]);
  }

 private:
  /// Exceptions that are put at their places at a time, and size of a group's part of the warp's buffer.
  static constexpr unsigned part_exceptions = 4 * L, part_values = 2 * part_exceptions;
  static_assert(lanes_per_warp / L * part_values <= WarpBuffer<V>::max_values);
  /// Replaces any position gap that leads out of a block, so that sums of gaps stay below 2^32.
  static constexpr std::uint32_t far = 1u << 20;

  __device__ static unsigned width_of(std::uint32_t codes, unsigned i) {
    return rpfd::width_of_code(codes >> i * rpfd::code_bits & 31);
  }
  __device__ static void set_widths(RpfdOnceStream& stream, std::uint32_t codes) {
    stream.width = width_of(codes, 0);
    stream.highs.width = width_of(codes, 1);
    stream.gaps.width = width_of(codes, 2);
  }

  /// The next count of exceptions, among `values` values; advances `bit`.
  __device__ static std::uint32_t next_count(std::uint32_t values, unsigned width, std::uint64_t& window,
                                             std::uint32_t& bit) {
    const unsigned bits = width == 32 ? 0 : 32 - __clz(static_cast<int>(values));
    const std::uint32_t exceptions = static_cast<std::uint32_t>(window) & mask_of(bits);
    window >>= bits;
    bit += bits;
    return exceptions;
  }
  __device__ bool count(RpfdOnceStream& stream, std::uint64_t& window, std::uint32_t& bit) const {
    stream.exceptions = next_count(place_.n, stream.width, window, bit);
    if (stream.exceptions > place_.n) return false;
    stream.highs.exceptions = next_count(stream.exceptions, stream.highs.width, window, bit);
    stream.gaps.exceptions = next_count(stream.exceptions, stream.gaps.width, window, bit);
    return max(stream.highs.exceptions, stream.gaps.exceptions) <= stream.exceptions;
  }

  /// Computes where all parts are, after the counts; returns the words of the block.
  __device__ std::uint32_t place_parts(std::uint32_t bit) {
    docids_.slots_bit = bit;
    freqs_.slots_bit = docids_.slots_bit + place_.n * docids_.width;
    docids_.highs.slots_bit = freqs_.slots_bit + place_.n * freqs_.width;
    docids_.gaps.slots_bit = docids_.highs.slots_bit + docids_.exceptions * docids_.highs.width;
    freqs_.highs.slots_bit = docids_.gaps.slots_bit + docids_.exceptions * docids_.gaps.width;
    freqs_.gaps.slots_bit = freqs_.highs.slots_bit + freqs_.exceptions * freqs_.highs.width;
    docids_.highs.raw_word = (freqs_.gaps.slots_bit + freqs_.exceptions * freqs_.gaps.width + 31) / 32;
    docids_.gaps.raw_word = docids_.highs.raw_word + 2 * docids_.highs.exceptions;
    freqs_.highs.raw_word = docids_.gaps.raw_word + 2 * docids_.gaps.exceptions;
    freqs_.gaps.raw_word = freqs_.highs.raw_word + 2 * freqs_.highs.exceptions;
    return freqs_.gaps.raw_word + 2 * freqs_.gaps.exceptions;
  }

  /// Distances, or frequencies.
  __device__ bool values(const RpfdOnceStream& stream, std::uint32_t (&out)[V]) const {
    const Slots<V, L> slots(place_.words, stream.slots_bit, stream.width, place_.n);
    const bool sound = put_parts_of_all(stream);
    slots.take(out);
    buffer_.add_to(out);
    return sound;
  }

  /// Puts what all exceptions add, and 1, at their places in the buffer, 1 elsewhere.
  __device__ bool put_parts_of_all(const RpfdOnceStream& stream) const {
    buffer_.set_to_one();
    bool sound = true;
    std::uint32_t before = 0xffffffffu;
    const unsigned most = max_of_groups<L>(stream.exceptions);
    for (unsigned first = 0; first < most; first += part_exceptions)
      sound &= put_part(stream, first, most - first, before);
    return most == 0 || all_of_group<L>(sound);
  }

  /// Puts exceptions from number `first` on; the group with the most has `most` left.
  __device__ bool put_part(const RpfdOnceStream& stream, unsigned first, unsigned most, std::uint32_t& before) const {
    const unsigned own = first < stream.exceptions ? min(stream.exceptions - first, part_exceptions) : 0;
    std::uint32_t* gaps = buffer_.stream() + group_of_lane<L>() * part_values;
    std::uint32_t* highs = gaps + own;
    __syncwarp();
    for (unsigned i = lane_of_group<L>(); i - lane_of_group<L>() < min(most, part_exceptions); i += L) {
      if (i >= own) continue;
      gaps[i] = min(slot(stream.gaps, first + i), far);
      highs[i] = slot(stream.highs, first + i);
    }
    bool sound = patch(stream.gaps, stream.exceptions, first, own, gaps, far);
    sound &= patch(stream.highs, stream.exceptions, first, own, highs, 0xffffffffu);
    __syncwarp();
    Exceptions of;
    of.count = own;
    of.width = stream.width;
    of.n = place_.n;
    std::uint32_t* to = buffer_.values + group_of_lane<L>() * V * L;
    const unsigned count = min(most, part_exceptions);
    const bool more = most > part_exceptions;
    if (count <= 2 * L) return put_parts<2, L>(gaps, count, of, to, before, more) && sound;
    return put_parts<4, L>(gaps, count, of, to, before, more) && sound;
  }

  __device__ std::uint32_t slot(const RpfdLeaf& leaf, unsigned i) const {
    return value_at(place_.words, leaf.slots_bit + i * leaf.width, leaf.width);
  }

  /// Adds an array's exceptions to its `own` values in the buffer, from number `first` on, of `size`. Results are
  /// limited to `most`.
  __device__ bool patch(const RpfdLeaf& leaf, std::uint32_t size, unsigned first, unsigned own, std::uint32_t* values,
                        std::uint32_t most) const {
    const std::uint32_t exceptions = max_of_groups<L>(leaf.exceptions);
    if (exceptions == 0) return true;
    __syncwarp();
    const std::uint32_t* highs = place_.words + leaf.raw_word;
    bool sound = true;
    std::uint32_t begin = 0;
    for (unsigned base = 0; base < exceptions; base += L) {
      const unsigned i = base + lane_of_group<L>();
      const bool there = i < leaf.exceptions;
      const std::uint32_t end = begin + inclusive_sum<L>(there ? highs[leaf.exceptions + i] + 1 : 0);
      begin = last_lane<L>(end);
      if (!there) continue;
      const std::uint32_t place = end - 1;
      sound &= place < size;
      if (place - first < own)
        values[place - first] = min(values[place - first] + exception_addend(highs[i], leaf.width), most);
    }
    return sound;
  }

  WarpBuffer<V> buffer_;
  BlockPlace place_;
  RpfdOnceStream docids_, freqs_;
};

}  // namespace quern::gpu
