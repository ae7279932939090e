#pragma once
#include <array>
#include <cstdint>
#include <cstring>

#include "quern/codec/bit_packing.hpp"
#include "quern/codec/simple16.hpp"

/// What the kernels of all SIMD levels share.
namespace quern {

// Unary numbers in a bit string, low bits first: q ones, then a zero, the number's terminator.

/// Positions after the n asked for that Kernels::find_terminators may write.
inline constexpr unsigned unary_slack = 72;

/// Lists where the ones of a word stand, counted from `base`; returns how many there are.
using ListOnes = unsigned (*)(std::uint64_t word, std::uint32_t base, std::uint32_t* positions);

/// Kernels::find_terminators by list_ones, which gets 64 bits at a time, inverted: terminators are ones there.
template <ListOnes list_ones>
bool search_terminators(const std::uint32_t* words, std::uint64_t bit_offset, std::uint64_t bits, unsigned n,
                        std::uint32_t* positions) {
  const char* from = reinterpret_cast<const char*>(words + bit_offset / 32);
  // Positions count from bit_offset: those of the first 64 bits begin below zero.
  std::int64_t base = -static_cast<std::int64_t>(bit_offset % 32);
  std::uint64_t wanted = ~std::uint64_t{0} << bit_offset % 32;
  unsigned found = 0;
  for (; base < static_cast<std::int64_t>(bits) && found < n; base += 64, from += 8) {
    std::uint64_t word;
    std::memcpy(&word, from, sizeof word);
    const std::uint64_t terminators = ~word & wanted;
    wanted = ~std::uint64_t{0};
    if (terminators != 0) found += list_ones(terminators, static_cast<std::uint32_t>(base), positions + found);
  }
  return found >= n && positions[n - 1] < bits;
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
