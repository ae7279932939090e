#pragma once
#include "quern/codec/bit_packing.hpp"
#include "quern/codec/simple16.hpp"

namespace quern::simple16 {

/// For each way and value: where the value stands in the word, and its mask. Values that a way doesn't hold come out
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

/// Decoders take so many words at a time, whether or not all are needed: a branch for each costs more.
inline constexpr unsigned words_at_a_time = 4;

}  // namespace quern::simple16
