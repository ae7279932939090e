#pragma once
#include <array>
#include <cstdint>
#include <cstring>

#include "quern/codec/bit_packing.hpp"
#include "quern/codec/simple16.hpp"

/// What the kernels of all SIMD levels share.
namespace quern {

/// The bits from `bit` on, at least 57 of them.
inline std::uint64_t bits_from(const std::uint32_t* words, std::uint64_t bit) {
  std::uint64_t window;
  std::memcpy(&window, reinterpret_cast<const char*>(words) + bit / 8, sizeof window);
  return window >> bit % 8;
}

namespace simple16 {

/// For each way and value: where the value is in the word, and its mask. Values that a way doesn't hold come out
/// as 0.
struct Cuts {
  alignas(64) std::array<std::array<std::uint32_t, 32>, 16> shifts{};
  alignas(64) std::array<std::array<std::uint32_t, 32>, 16> masks{};
};

constexpr Cuts make_cuts() {
  Cuts made;
  for (unsigned way = 0; way < 16; ++way) {
    unsigned i = 0, bit = 0;
    for (const Run& run : ways[way])
      for (unsigned j = 0; j < run.count; ++j, ++i, bit += run.width) {
        made.shifts[way][i] = bit;
        made.masks[way][i] = low_mask(run.width);
      }
  }
  return made;
}

inline constexpr Cuts cuts = make_cuts();

/// The first word whose value isn't narrow: only the last way, of one value a word, has such.
inline constexpr std::uint32_t first_wide_word = 0xf0000000 + narrow_values;

/// Words that decoders take at a time, whether or not all are needed: a branch for each would cost more.
inline constexpr unsigned words_at_a_time = 4;

/// How many values those of the `taken` words hold that stand behind the `size` of the stream, less than
/// words_at_a_time. Without branches, since it is as good as random how many these are.
inline std::uint64_t held_behind(const std::uint32_t* words, std::size_t size, std::size_t taken) {
  std::uint64_t held = 0;
  for (unsigned back = 1; back < words_at_a_time; ++back) {
    const std::uint64_t is_behind = taken >= size + back ? 1 : 0;
    held += counts[words[taken - back] >> 28] & (0 - is_behind);
  }
  return held;
}

}  // namespace simple16

}  // namespace quern
