#pragma once
#include "quern/codec/newpfd_layout.hpp"
#include "quern/gpu/decode/serial_bits.hpp"

/// NewPFD blocks, decoded by one thread; formats/codec/newpfd.md describes them.
namespace quern::gpu {

/// Reads the values of a stream one after another.
class SerialNewPfdStream {
 public:
  constexpr SerialNewPfdStream(const std::uint32_t* words, const newpfd::Arrays& stream,
                               const newpfd::HighPlaces& places, std::uint32_t slots_bit)
      : words_(words), stream_(stream), next_(places), slots_bit_(slots_bit) {}

  constexpr std::uint32_t next() {
    std::uint32_t value = take(slots_bit_, stream_.widths[0]);
    unsigned shift = stream_.widths[0];
    for (unsigned array = 0; array + 1 < stream_.count && take(next_.mask_bits[array], 1) != 0; ++array) {
      value += exception_addend(take(next_.slot_bits[array], stream_.widths[array + 1]), shift);
      shift += stream_.widths[array + 1];
    }
    return value;
  }

 private:
  constexpr std::uint32_t take(std::uint32_t& bit, unsigned width) const {
    const std::uint32_t value = serial_value(words_, bit, width);
    bit += width;
    return value;
  }

  const std::uint32_t* words_;
  newpfd::Arrays stream_;
  newpfd::HighPlaces next_;  ///< of the next values
  std::uint32_t slots_bit_;
};

class SerialNewPfd {
 public:
  constexpr explicit SerialNewPfd(const SerialContext& context) : context_(context) {}

  /// Opens a block. False if its parts are not within it.
  constexpr bool open(const BlockPlace& place) {
    place_ = place;
    if (place.size == 0) return false;
    header_ = newpfd::Header(place.words[0]);
    if (header_.slots_end_bit(place.n) > 32 * std::uint64_t{place.size}) return false;
    return header_.find(
        place.n, place.size, places_,
        [&](const newpfd::HighPlaces&, unsigned, std::uint32_t bit, std::uint32_t n) { return ones(bit, n); });
  }

  /// False if they are not rising docIDs.
  constexpr bool docids(std::uint32_t* out) const {
    SerialNewPfdStream gaps(place_.words, header_.docids, places_.docids, header_.docid_slots_bit(place_.n));
    RisingDocids sum(place_.before, context_.num_documents);
    for (std::uint32_t i = 0; i < place_.n; ++i)
      if (!sum.add(gaps.next(), out[i])) return false;
    return true;
  }

  constexpr bool freqs(std::uint32_t* out) const {
    SerialNewPfdStream values(place_.words, header_.freqs, places_.freqs, header_.freq_slots_bit(place_.n));
    for (std::uint32_t i = 0; i < place_.n; ++i) out[i] = values.next() + 1;
    return true;
  }

  /// Whether separate_freq() can be called.
  constexpr bool has_separate_freqs() const { return true; }
  /// The frequency of posting i, with its high parts if it is an exception.
  constexpr std::uint32_t separate_freq(std::uint32_t i) const {
    const newpfd::Arrays& stream = header_.freqs;
    unsigned shift = stream.widths[0];
    std::uint32_t value = serial_value(place_.words, header_.freq_slots_bit(place_.n) + i * shift, shift);
    for (unsigned array = 0; array + 1 < stream.count; ++array) {
      const std::uint32_t mask = places_.freqs.mask_bits[array];
      if (serial_value(place_.words, mask + i, 1) == 0) break;
      i = ones(mask, i);  // its place among the high parts
      const unsigned width = stream.widths[array + 1];
      value += exception_addend(serial_value(place_.words, places_.freqs.slot_bits[array] + i * width, width), shift);
      shift += width;
    }
    return value + 1;
  }

 private:
  /// How many of the n bits at `bit` are ones.
  constexpr std::uint32_t ones(std::uint32_t bit, std::uint32_t n) const {
    std::uint32_t ones = 0;
    for (std::uint32_t i = 0; i < n; i += 32)
      ones += count_ones(serial_value(place_.words, bit + i, n - i < 32 ? n - i : 32));
    return ones;
  }

  SerialContext context_;
  BlockPlace place_;
  newpfd::Header header_;
  newpfd::BlockPlaces places_;
};

}  // namespace quern::gpu
