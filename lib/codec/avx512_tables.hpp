#pragma once
#include "quern/codec/newpfd.hpp"

/// Shuffle and shift tables of the AVX-512 kernels.
namespace quern::avx512 {

/// How to extract values of one width from a 64-byte load, for each possible bit offset of the first value: select
/// bytes, then shift within 32-bit lanes, or select bytes at given bit offsets within 64-bit lanes.
template <class Shift>
struct Cut {
  alignas(64) std::array<std::uint8_t, 64> bytes{};
  alignas(64) std::array<Shift, 64 / sizeof(Shift)> shifts{};
};

template <class Shift, unsigned max_width>
using Cuts = std::array<std::array<Cut<Shift>, 8>, max_width + 1>;

/// Maximum width of values extracted to 32 bits: a value and the bits before it in its first byte must fit in 32 bits.
inline constexpr unsigned max_cut_width = 25;
/// Maximum width of values extracted to 16 bits, four from 64.
inline constexpr unsigned max_short_width = 14;
/// Maximum width of values extracted to bytes: sums of 16 must fit in a byte.
inline constexpr unsigned max_byte_width = 4;

constexpr auto make_cuts() {
  Cuts<std::uint32_t, max_cut_width> cuts{};
  for (unsigned width = 0; width <= max_cut_width; ++width)
    for (unsigned phase = 0; phase < 8; ++phase)
      for (unsigned i = 0; i < 16; ++i) {
        const unsigned bit = phase + i * width;
        for (unsigned byte = 0; byte < 4; ++byte)
          cuts[width][phase].bytes[4 * i + byte] = static_cast<std::uint8_t>(bit / 8 + byte);
        cuts[width][phase].shifts[i] = bit % 8;
      }
  return cuts;
}

/// Moves to each 64-bit lane the bytes of the values extracted there, `size` bytes per value.
template <unsigned max_width, unsigned size>
constexpr auto make_cuts_of_64() {
  Cuts<std::uint8_t, max_width> cuts{};
  for (unsigned width = 0; width <= max_width; ++width)
    for (unsigned phase = 0; phase < 8; ++phase)
      for (unsigned byte = 0; byte < 64; ++byte) {
        const unsigned first_bit = phase + byte / 8 * (8 / size) * width;
        Cut<std::uint8_t>& cut = cuts[width][phase];
        cut.bytes[byte] = static_cast<std::uint8_t>(first_bit / 8 + byte % 8);
        cut.shifts[byte] = static_cast<std::uint8_t>(first_bit % 8 + byte % 8 / size * width + byte % size * 8);
      }
  return cuts;
}

inline constexpr auto all_cuts = make_cuts();
inline constexpr auto short_cuts = make_cuts_of_64<max_short_width, 2>();
inline constexpr auto byte_cuts = make_cuts_of_64<max_byte_width, 1>();

/// Interleaves the lanes of two registers.
constexpr auto make_zip() {
  std::array<std::uint32_t, 32> from{};
  for (unsigned i = 0; i < 32; ++i) from[i] = i / 2 + i % 2 * 16;
  return from;
}

alignas(64) inline constexpr auto zip = make_zip();

/// For each 16 of 64 bytes: their 32-bit lanes, and the last of them broadcast to all lanes.
struct Spread {
  std::array<std::array<std::uint32_t, 16>, 4> all{}, last{};
};

constexpr Spread make_spread() {
  Spread made;
  for (unsigned part = 0; part < 4; ++part)
    for (unsigned i = 0; i < 16; ++i) {
      made.all[part][i] = 16 * part + i;
      made.last[part][i] = 16 * part + 15;
    }
  return made;
}

alignas(64) inline constexpr Spread spread = make_spread();

/// How to extract the values of a word of Simple16 to 16 bits each. The size is a power of two.
struct WordCut {
  alignas(128) std::array<std::uint8_t, 56> shifts{};
  std::uint64_t count = 0;
  std::array<std::uint16_t, 32> masks{};
};

constexpr auto make_word_cuts() {
  std::array<WordCut, 16> cuts{};
  for (std::uint32_t number = 0; number < 16; ++number) {
    const simple16::Way way = simple16::way_of(number << 28);
    WordCut& cut = cuts[number];
    cut.count = way.count;
    for (unsigned i = 0; i < way.count; ++i) {
      cut.shifts[2 * i] = static_cast<std::uint8_t>(way.bit_of(i));
      cut.shifts[2 * i + 1] = static_cast<std::uint8_t>(way.bit_of(i) + 8);
      cut.masks[i] = static_cast<std::uint16_t>(low_mask(way.width_of(i)));
    }
  }
  return cuts;
}

inline constexpr auto word_cuts = make_word_cuts();

/// The numbers 0, 1, 2, ...
constexpr auto make_counting() {
  std::array<std::uint16_t, 32> numbers{};
  for (std::uint16_t i = 0; i < 32; ++i) numbers[i] = i;
  return numbers;
}

alignas(64) inline constexpr auto counting = make_counting();

}  // namespace quern::avx512
