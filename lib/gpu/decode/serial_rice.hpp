#pragma once
#include "quern/gpu/decode/rice_parts.hpp"
#include "quern/gpu/decode/serial_bits.hpp"

/// Rice-coded blocks, decoded by one thread; formats/rice.md describes them.
namespace quern::gpu {

class SerialRice {
 public:
  constexpr explicit SerialRice(const SerialContext& context) : context_(context) {}

  /// Opens a block. False if its parts are not within it.
  constexpr bool open(const BlockPlace& place) {
    place_ = place;
    return parts_.open(place);
  }

  /// False if they are not rising docIDs.
  constexpr bool docids(std::uint32_t* out) const {
    RisingDocids sum(place_.before, context_.num_documents);
    return values(parts_.remainders_bit, parts_.docid_width, parts_.docid_unary_bit, parts_.docid_unary,
                  [&](std::uint32_t i, std::uint32_t gap) { return sum.add(gap, out[i]); });
  }

  constexpr bool freqs(std::uint32_t* out) const {
    return values(parts_.remainders_bit + place_.n * parts_.docid_width, parts_.freq_width,
                  parts_.docid_unary_bit + parts_.docid_unary, parts_.freq_unary,
                  [&](std::uint32_t i, std::uint32_t value) {
                    out[i] = value + 1;
                    return true;
                  });
  }

  /// The unary part of a frequency is found only through those before it.
  constexpr bool has_separate_freqs() const { return false; }
  constexpr std::uint32_t separate_freq(std::uint32_t) const { return 0; }

 private:
  /// Calls take(i, value) for the values of a stream until it returns false. False unless the unary part has exactly as
  /// many terminators, the last one at its end.
  template <class Take>
  constexpr bool values(std::uint64_t bit, unsigned width, std::uint64_t unary_bit, std::uint32_t unary,
                        Take&& take) const {
    const std::uint64_t end = unary_bit + unary;
    for (std::uint32_t i = 0; i < place_.n; ++i, bit += width) {
      std::uint32_t ones = 0;
      for (;;) {
        if (unary_bit >= end) return false;
        const std::uint32_t run = trailing_ones(serial_value(place_.words, unary_bit, 32));
        ones += run;
        unary_bit += run;
        if (run < 32) break;
      }
      if (++unary_bit > end) return false;
      if (!take(i, (ones << width) + serial_value(place_.words, bit, width))) return false;
    }
    return unary_bit == end;
  }

  SerialContext context_;
  BlockPlace place_;
  RiceParts parts_;
};

}  // namespace quern::gpu
