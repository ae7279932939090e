#pragma once
#include "quern/codec/rpfd_layout.hpp"
#include "quern/gpu/decode/block_place.cuh"
#include "quern/gpu/decode/slots.cuh"

/// Recursive PForDelta blocks, decoded by one warp each; formats/rpfd.md describes them.
namespace quern::gpu {

static __device__ const rpfd::Shape rpfd_shapes[rpfd::max_recursion + 1] = {
    rpfd::Shape(0), rpfd::Shape(1), rpfd::Shape(2), rpfd::Shape(3), rpfd::Shape(4)};

/// Words of IndexView::scratch per warp, for nested arrays.
constexpr std::uint32_t rpfd_scratch_words(unsigned recursion, unsigned block_size) {
  return rpfd::arrays_of(recursion) * block_size;
}

/// One stream of a block; lane i has the numbers of array i.
struct RpfdStream {
  std::uint32_t width = 0;
  std::uint32_t values = 0, exceptions = 0;
  std::uint32_t slots_bit = 0, raw_word = 0;
};

template <int V>
class RpfdDecoder {
 public:
  __device__ RpfdDecoder(const IndexView& index, const WarpBuffer<V>& buffer)
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
  /// Of this lane's documents from those before them.
  __device__ bool distances(std::uint32_t (&out)[V]) const { return values(docids_, out); }

  __device__ bool freqs(std::uint32_t (&out)[V]) const { return values(freqs_, out); }

  /// Whether freq_at() can be called.
  static constexpr bool has_single_freqs = true;
  /// Prepares freq_at(), for which the warp's buffer is kept if there are exceptions. False if these are damaged.
  __device__ bool open_freqs() const { return of(freqs_.exceptions, 0) == 0 || put_parts_of_all(freqs_); }
  /// The frequency of posting i, which may differ from lane to lane, from its slot (Ding et al., section 6.1).
  __device__ std::uint32_t freq_at(std::uint32_t i) const {
    const std::uint32_t first = of(freqs_.slots_bit, 0), width = of(freqs_.width, 0);
    const std::uint32_t slot = value_at(place_.words, first + i * width, width);
    return slot + (of(freqs_.exceptions, 0) == 0 ? 1 : buffer_.values[i]);
  }

 private:
  __device__ static std::uint32_t width_of(std::uint32_t code) { return code == 31 ? 32 : code; }
  __device__ static std::uint32_t of(std::uint32_t value, unsigned array) {
    return __shfl_sync(all_lanes, value, array);
  }

  /// Reads the counts of a stream's exceptions from `bit` on.
  __device__ bool count(RpfdStream& stream, std::uint32_t& bit) const {
    bool sound = true;
    stream.values = stream.exceptions = 0;
    for (unsigned array = 0; array < arrays_; ++array) {
      const std::uint32_t values = array == 0 ? place_.n : of(stream.exceptions, of(parent_, array));
      const unsigned bits = of(stream.width, array) == 32 ? 0 : 32 - __clz(values);
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
  __device__ std::uint32_t first_bits(const RpfdStream& stream) const { return of(stream.values * stream.width, 0); }
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

  /// Distances, or frequencies.
  __device__ bool values(const RpfdStream& stream, std::uint32_t (&out)[V]) const {
    read_slots<V>(place_.words, of(stream.slots_bit, 0), of(stream.width, 0), place_.n, out);
    if (of(stream.exceptions, 0) == 0) {
#pragma unroll
      for (int i = 0; i < V; ++i) ++out[i];
      return true;
    }
    const bool sound = put_parts_of_all(stream);
    buffer_.add_to(out);
    return sound;
  }

  /// Puts what all exceptions add, and 1, at their places in the buffer, 1 elsewhere.
  __device__ bool put_parts_of_all(const RpfdStream& stream) const {
    bool sound = true;
    for (unsigned array = arrays_ - 1; array > 0; --array) sound &= decode_nested(stream, array);
    buffer_.set_to_one();
    sound &= patch(stream, 0, buffer_.values);
    return __all_sync(all_lanes, sound);
  }

  /// Decodes all values of an array to its part of the scratch buffer; those of its children are there already.
  __device__ bool decode_nested(const RpfdStream& stream, unsigned array) const {
    const std::uint32_t values = of(stream.values, array), width = of(stream.width, array);
    const std::uint32_t bit = of(stream.slots_bit, array);
    if (values == 0) return true;
    std::uint32_t* out = scratch_ + array * block_size_;
    for (unsigned i = lane_id(); i < values; i += lanes_per_warp)
      out[i] = value_at(place_.words, bit + i * width, width);
    __syncwarp();
    return patch(stream, array, out);
  }

  /// Adds an array's exceptions to its values.
  __device__ bool patch(const RpfdStream& stream, unsigned array, std::uint32_t* out) const {
    const std::uint32_t count = of(stream.exceptions, array), width = of(stream.width, array);
    const std::uint32_t values = of(stream.values, array);
    const rpfd::Shape::Array children = shape_->arrays[array];
    const std::uint32_t* raw = place_.words + of(stream.raw_word, array);
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

}  // namespace quern::gpu
