#pragma once
#include "quern/codec/rpfd_layout.hpp"
#include "quern/gpu/decode/slots.cuh"

/// Recursive PForDelta blocks, decoded by one warp each; formats/codec/rpfd.md describes them.
namespace quern::gpu {

static __device__ const rpfd::Shape rpfd_shapes[rpfd::max_recursion + 1] = {
    rpfd::Shape(0), rpfd::Shape(1), rpfd::Shape(2), rpfd::Shape(3), rpfd::Shape(4)};

/// Words of IndexView::scratch per warp, for nested arrays.
constexpr std::uint32_t rpfd_scratch_words(unsigned recursion, unsigned block_size) {
  return rpfd::arrays_of(recursion) * block_size;
}

/// One stream of a block; lane i holds the numbers of array i.
struct RpfdStream {
  std::uint32_t width = 0;
  std::uint32_t values = 0, exceptions = 0;
  std::uint32_t slots_bit = 0, raw_word = 0;
};

template <int V>
class RpfdWarpDecoder {
 public:
  __device__ RpfdWarpDecoder(const IndexView& index, const WarpBuffer<V>& buffer)
      : buffer_(buffer),
        shape_(rpfd_shapes + index.recursion),
        arrays_(rpfd::arrays_of(index.recursion)),
        block_size_(index.block_size) {
    const std::uint64_t warp = (std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x) / lanes_per_warp;
    scratch_ = index.scratch + warp * rpfd_scratch_words(index.recursion, index.block_size);
    const rpfd::Shape::Array own = lane_id() < arrays_ ? shape_->arrays[lane_id()] : rpfd::Shape::Array{};
    parent_ = own.parent;
    leaf_ = lane_id() < arrays_ && own.highs == 0;
  }

  __device__ bool open(const BlockPlace& place) {
    place_ = place;
    if (place.size == 0) return false;
    const unsigned code_bit = rpfd::code_bits * lane_id();
    docids_.width = freqs_.width = 0;
    if (lane_id() < arrays_) {
      docids_.width = width_of(value_at(place.list, code_bit, rpfd::code_bits));
      freqs_.width = width_of(value_at(place.list, code_bit + rpfd::code_bits * arrays_, rpfd::code_bits));
    }
    std::uint32_t bit = 0;
    if (!count(docids_, bit) || !count(freqs_, bit)) return false;
    const std::uint32_t own_docids = bit;
    bit += first_bits(docids_);
    const std::uint32_t own_freqs = bit;
    bit += first_bits(freqs_);
    place_nested(docids_, own_docids, bit);
    place_nested(freqs_, own_freqs, bit);
    std::uint32_t words = (bit + 31) / 32;
    place_raw(docids_, words);
    place_raw(freqs_, words);
    return words <= place.size;
  }

  __device__ bool docids(std::uint32_t (&out)[V]) const {
    const bool sound = distances(out);
    sum_up<V>(place_.before, out);
    return sound;
  }
  /// The distances of this lane's documents from their predecessors.
  __device__ bool distances(std::uint32_t (&out)[V]) const { return values(docids_, out); }

  __device__ bool freqs(std::uint32_t (&out)[V]) const { return values(freqs_, out); }

  static constexpr bool has_single_freqs = true;  ///< whether freq_at() can be called
  /// Prepares freq_at(), for which the warp's buffer is kept if there are exceptions. False if these are damaged.
  __device__ bool open_freqs() const { return lane_value(freqs_.exceptions, 0) == 0 || put_addends(freqs_); }
  /// The frequency of posting i, which may differ from lane to lane, from its slot (Ding et al., section 6.1).
  __device__ std::uint32_t freq_at(std::uint32_t i) const {
    const std::uint32_t first = lane_value(freqs_.slots_bit, 0), width = lane_value(freqs_.width, 0);
    const std::uint32_t slot = value_at(place_.words, first + i * width, width);
    return slot + (lane_value(freqs_.exceptions, 0) == 0 ? 1 : buffer_.values[i]);
  }

 private:
  __device__ static std::uint32_t width_of(std::uint32_t code) { return code == 31 ? 32 : code; }
  __device__ static std::uint32_t lane_value(std::uint32_t value, unsigned array) {
    return __shfl_sync(all_lanes, value, array);
  }

  /// Reads the counts of a stream's exceptions from `bit` on.
  __device__ bool count(RpfdStream& stream, std::uint32_t& bit) const {
    bool sound = true;
    stream.values = stream.exceptions = 0;
    for (unsigned array = 0; array < arrays_; ++array) {
      const std::uint32_t values = array == 0 ? place_.n : lane_value(stream.exceptions, lane_value(parent_, array));
      const unsigned bits = lane_value(stream.width, array) == 32 ? 0 : 32 - __clz(values);
      const std::uint32_t exceptions = bits == 0 ? 0 : value_at(place_.words, bit, bits);
      bit += bits;
      sound &= exceptions <= values;
      if (lane_id() == array) {
        stream.values = values;
        stream.exceptions = exceptions <= values ? exceptions : 0;
      }
    }
    return sound;
  }
  __device__ std::uint32_t first_bits(const RpfdStream& stream) const {
    return lane_value(stream.values * stream.width, 0);
  }
  __device__ void place_nested(RpfdStream& stream, std::uint32_t own, std::uint32_t& bit) const {
    const std::uint32_t bits = lane_id() == 0 ? 0 : stream.values * stream.width;
    const std::uint32_t end = inclusive_sum(bits);
    stream.slots_bit = lane_id() == 0 ? own : bit + end - bits;
    bit += last_lane(end);
  }
  __device__ void place_raw(RpfdStream& stream, std::uint32_t& word) const {
    const std::uint32_t words = leaf_ ? 2 * stream.exceptions : 0;
    const std::uint32_t end = inclusive_sum(words);
    stream.raw_word = word + end - words;
    word += last_lane(end);
  }

  __device__ bool values(const RpfdStream& stream, std::uint32_t (&out)[V]) const {
    read_slots<V>(place_.words, lane_value(stream.slots_bit, 0), lane_value(stream.width, 0), place_.n, out);
    if (lane_value(stream.exceptions, 0) == 0) {
#pragma unroll
      for (int i = 0; i < V; ++i) ++out[i];
      return true;
    }
    const bool sound = put_addends(stream);
    buffer_.add_to(out);
    return sound;
  }

  /// Puts what all exceptions add, and 1, at their places in the buffer, 1 elsewhere.
  __device__ bool put_addends(const RpfdStream& stream) const {
    bool sound = true;
    for (unsigned array = arrays_ - 1; array > 0; --array) sound &= decode_nested(stream, array);
    buffer_.set_to_one();
    sound &= patch(stream, 0, buffer_.values);
    return __all_sync(all_lanes, sound);
  }

  /// Decodes all values of an array to the scratch buffer, which already holds those of its children.
  __device__ bool decode_nested(const RpfdStream& stream, unsigned array) const {
    const std::uint32_t values = lane_value(stream.values, array), width = lane_value(stream.width, array);
    const std::uint32_t bit = lane_value(stream.slots_bit, array);
    if (values == 0) return true;
    std::uint32_t* out = scratch_ + array * block_size_;
    for (unsigned i = lane_id(); i < values; i += lanes_per_warp)
      out[i] = value_at(place_.words, bit + i * width, width);
    __syncwarp();
    return patch(stream, array, out);
  }

  __device__ bool patch(const RpfdStream& stream, unsigned array, std::uint32_t* out) const {
    const std::uint32_t count = lane_value(stream.exceptions, array), width = lane_value(stream.width, array);
    const std::uint32_t values = lane_value(stream.values, array);
    const rpfd::Shape::Array children = shape_->arrays[array];
    const std::uint32_t* raw = place_.words + lane_value(stream.raw_word, array);
    const std::uint32_t* highs = children.highs == 0 ? raw : scratch_ + children.highs * block_size_;
    const std::uint32_t* gaps = children.highs == 0 ? raw + count : scratch_ + children.positions * block_size_;
    bool sound = true;
    std::uint32_t begin = 0;
    for (unsigned base = 0; base < count; base += lanes_per_warp) {
      const unsigned i = base + lane_id();
      const std::uint32_t end = begin + inclusive_sum(i < count ? gaps[i] + 1 : 0);
      begin = last_lane(end);
      if (i >= count) continue;
      if (end - 1 < values)
        out[end - 1] += exception_addend(highs[i], width);
      else
        sound = false;
    }
    __syncwarp();
    return sound;
  }

  WarpBuffer<V> buffer_;
  const rpfd::Shape* shape_;
  unsigned arrays_, block_size_;
  std::uint32_t* scratch_;
  std::uint32_t parent_;
  bool leaf_;
  BlockPlace place_;
  RpfdStream docids_, freqs_;
};

// PForDelta blocks of recursion 1, the default, each decoded by a group of L lanes with V postings per lane;
// formats/codec/rpfd.md describes them. Exceptions are put at their places in tiles of 4 * L.

/// The high parts of a stream's exceptions, or their position gaps: an array whose own exceptions are whole words.
struct RpfdLeaf {
  unsigned width = 0;
  std::uint32_t slots_bit = 0;
  std::uint32_t exceptions = 0;
  std::uint32_t raw_word = 0;  ///< of its high parts, then their position gaps
};

/// One stream of a block.
struct RpfdOnceStream {
  unsigned width = 0;
  std::uint32_t slots_bit = 0;
  std::uint32_t exceptions = 0;
  RpfdLeaf highs, gaps;
};

/// All lanes of a warp must call together, even if its groups decode different blocks.
template <int V, int L = lanes_per_warp>
class RpfdOnceWarpDecoder {
 public:
  __device__ RpfdOnceWarpDecoder(const IndexView&, const WarpBuffer<V>& buffer) : buffer_(buffer) {}

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

  __device__ bool docids(std::uint32_t (&out)[V]) const {
    const bool sound = distances(out);
    sum_up<V, L>(place_.before, out);
    return sound;
  }
  /// The distances of this lane's documents from their predecessors.
  __device__ bool distances(std::uint32_t (&out)[V]) const { return values(docids_, out); }

  __device__ bool freqs(std::uint32_t (&out)[V]) const { return values(freqs_, out); }

  static constexpr bool has_single_freqs = true;  ///< whether freq_at() can be called
  /// Prepares freq_at(), for which the warp's buffer is kept if there are exceptions. False if these are damaged.
  __device__ bool open_freqs() const {
    const bool sound = freqs_.exceptions == 0 || put_addends(freqs_);
    __syncwarp();
    return sound;
  }
  /// The frequency of posting i, which may differ from lane to lane, from its slot (Ding et al., section 6.1).
  __device__ std::uint32_t freq_at(std::uint32_t i) const {
    const std::uint32_t slot = value_at(place_.words, freqs_.slots_bit + i * freqs_.width, freqs_.width);
    return slot + (freqs_.exceptions == 0 ? 1 : buffer_.values[i]);
  }

 private:
  /// Exceptions per tile, and a group's values in the warp's buffer.
  static constexpr unsigned tile_exceptions = 4 * L, tile_values = 2 * tile_exceptions;
  static_assert(lanes_per_warp / L * tile_values <= WarpBuffer<V>::max_values);

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

  /// Computes the places of all arrays after the counts; returns the words of the block.
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

  __device__ bool values(const RpfdOnceStream& stream, std::uint32_t (&out)[V]) const {
    const Slots<V, L> slots(place_.words, stream.slots_bit, stream.width, place_.n);
    const bool sound = put_addends(stream);
    slots.take(out);
    buffer_.add_to(out);
    return sound;
  }

  /// Puts what all exceptions add, and 1, at their places in the buffer, 1 elsewhere.
  __device__ bool put_addends(const RpfdOnceStream& stream) const {
    buffer_.set_to_one();
    bool sound = true;
    std::uint32_t before = 0xffffffffu;
    const unsigned max_count = max_of_groups<L>(stream.exceptions);
    if (max_of_groups<L>(stream.highs.exceptions + stream.gaps.exceptions) == 0) {
      const auto get = [&](unsigned, unsigned own, std::uint32_t& gap, std::uint32_t& high) {
        if (own >= stream.exceptions) return;
        gap = slot(stream.gaps, own);
        high = slot(stream.highs, own);
      };
      sound = put_each_addend<L>(max_count, {stream.exceptions, stream.width, place_.n},
                                 buffer_.values + group_of_lane<L>() * V * L, get);
      return max_count == 0 || all_of_group<L>(sound);
    }
    for (unsigned first = 0; first < max_count; first += tile_exceptions)
      sound &= put_tile(stream, first, max_count - first, before);
    return max_count == 0 || all_of_group<L>(sound);
  }

  /// Puts a tile of exceptions from number `first` on. `left`: the maximum of all groups' remaining exceptions.
  __device__ bool put_tile(const RpfdOnceStream& stream, unsigned first, unsigned left, std::uint32_t& before) const {
    const unsigned own = first < stream.exceptions ? min(stream.exceptions - first, tile_exceptions) : 0;
    std::uint32_t* gaps = buffer_.stream() + group_of_lane<L>() * tile_values;
    std::uint32_t* highs = gaps + own;
    __syncwarp();
    for (unsigned i = lane_of_group<L>(); i - lane_of_group<L>() < min(left, tile_exceptions); i += L) {
      if (i >= own) continue;
      gaps[i] = min(slot(stream.gaps, first + i), far_gap);
      highs[i] = slot(stream.highs, first + i);
    }
    bool sound = patch(stream.gaps, stream.exceptions, first, own, gaps, far_gap);
    sound &= patch(stream.highs, stream.exceptions, first, own, highs, 0xffffffffu);
    __syncwarp();
    Exceptions exceptions;
    exceptions.count = own;
    exceptions.width = stream.width;
    exceptions.n = place_.n;
    std::uint32_t* to = buffer_.values + group_of_lane<L>() * V * L;
    const unsigned count = min(left, tile_exceptions);
    const bool more = left > tile_exceptions;
    if (count <= 2 * L) return gpu::put_addends<2, L>(gaps, count, exceptions, to, before, more) && sound;
    return gpu::put_addends<4, L>(gaps, count, exceptions, to, before, more) && sound;
  }

  __device__ std::uint32_t slot(const RpfdLeaf& leaf, unsigned i) const {
    return value_at(place_.words, leaf.slots_bit + i * leaf.width, leaf.width);
  }

  /// Adds exceptions to an array's `own` values from number `first` on, of `size`; results are at most `limit`.
  __device__ bool patch(const RpfdLeaf& leaf, std::uint32_t size, unsigned first, unsigned own, std::uint32_t* values,
                        std::uint32_t limit) const {
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
        values[place - first] = min(values[place - first] + exception_addend(highs[i], leaf.width), limit);
    }
    return sound;
  }

  WarpBuffer<V> buffer_;
  BlockPlace place_;
  RpfdOnceStream docids_, freqs_;
};

}  // namespace quern::gpu
