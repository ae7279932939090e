#pragma once
#include "quern/gpu/decode/serial_bits.hpp"

/// Recursive PForDelta blocks, decoded by one thread; formats/rpfd.md describes them.
namespace quern::gpu {

/// Reads numbers one after another.
class SerialNumbers {
 public:
  constexpr explicit SerialNumbers(const std::uint32_t* from) : next_(from) {}
  constexpr bool operator()(std::uint32_t& value) {
    value = *next_++;
    return true;
  }

 private:
  const std::uint32_t* next_;
};

class SerialRpfd {
 public:
  constexpr explicit SerialRpfd(const SerialContext& context) : context_(context) {}

  /// Opens a block. False if its parts are not within it.
  constexpr bool open(const BlockPlace& place) {
    place_ = place;
    if (place.size == 0) return false;
    const rpfd::Shape& shape = *context_.shape;
    for (unsigned i = 0; i < shape.size; ++i) {
      docid_widths_[i] = width_of(place.list, i);
      freq_widths_[i] = width_of(place.list, shape.size + i);
    }
    std::uint32_t bit = 0;
    bool sound = true;
    const auto read = [&](unsigned bits, std::uint32_t values) {
      const std::uint32_t count = serial_value(place.words, bit, bits);
      bit += bits;
      sound &= count <= values;
      return count <= values ? count : 0;
    };
    layout_.docids.count(shape, docid_widths_, place.n, read);
    layout_.freqs.count(shape, freq_widths_, place.n, read);
    layout_.place(shape, docid_widths_, freq_widths_, bit);
    return sound && layout_.words <= place.size;
  }

  /// False if they are not rising docIDs.
  constexpr bool docids(std::uint32_t* out) const {
    RisingDocids sum(place_.before, context_.num_documents);
    return values(layout_.docids, docid_widths_,
                  [&](std::uint32_t i, std::uint32_t gap) { return sum.add(gap, out[i]); });
  }

  constexpr bool freqs(std::uint32_t* out) const {
    return values(layout_.freqs, freq_widths_, [&](std::uint32_t i, std::uint32_t value) {
      out[i] = value + 1;
      return true;
    });
  }

  /// Whether separate_freq() can be called: none of the block's frequencies is an exception.
  constexpr bool has_separate_freqs() const { return layout_.freqs.exceptions[0] == 0; }
  constexpr std::uint32_t separate_freq(std::uint32_t i) const {
    return serial_value(place_.words, layout_.freqs.slots_bit[0] + std::uint64_t{i} * freq_widths_[0],
                        freq_widths_[0]) +
           1;
  }

 private:
  constexpr static std::uint8_t width_of(const std::uint32_t* list, unsigned array) {
    return static_cast<std::uint8_t>(rpfd::width_of_code(serial_value(list, rpfd::code_bits * array, rpfd::code_bits)));
  }

  /// Calls take(i, value) for the values of a stream until that returns false. Nested arrays come first, the deepest
  /// before those that need them.
  template <class Take>
  constexpr bool values(const rpfd::Stream& stream, const rpfd::Widths& widths, Take&& take) const {
    if (stream.exceptions[0] > 0)
      for (unsigned array = context_.shape->size - 1; array > 0; --array) {
        std::uint32_t* out = context_.nested + array * context_.block_size;
        const auto keep = [&](std::uint32_t i, std::uint32_t value) {
          out[i] = value;
          return true;
        };
        if (!values_of(stream, widths, array, keep)) return false;
      }
    return values_of(stream, widths, 0, take);
  }

  template <class Take>
  constexpr bool values_of(const rpfd::Stream& stream, const rpfd::Widths& widths, unsigned array, Take&& take) const {
    const unsigned width = widths[array], exceptions = stream.exceptions[array];
    const rpfd::Shape::Array children = context_.shape->arrays[array];
    const std::uint32_t* raw = place_.words + stream.raw_word[array];
    const bool nested = children.highs != 0;
    const SerialNumbers highs(nested ? context_.nested + children.highs * context_.block_size : raw);
    const SerialNumbers gaps(nested ? context_.nested + children.positions * context_.block_size : raw + exceptions);
    SerialPatches patches(gaps, highs, exceptions, width);
    std::uint64_t bit = stream.slots_bit[array];
    for (std::uint32_t i = 0; i < stream.values[array]; ++i, bit += width)
      if (!take(i, serial_value(place_.words, bit, width) + patches.at(i))) return false;
    return patches.sound();
  }

  SerialContext context_;
  BlockPlace place_;
  rpfd::Widths docid_widths_{}, freq_widths_{};
  rpfd::Layout layout_{};
};

}  // namespace quern::gpu
