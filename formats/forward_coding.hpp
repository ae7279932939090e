#pragma once
#include <cstdint>

/// Sizes of a forward segment's fields (forward.md), for every device that reads segments.
namespace quern {

/// Bits of a number without zeros in front; 0 of 0. std::bit_width() gives wrong results in kernels (CUDA 13).
constexpr unsigned width_of(std::uint64_t number) {
  unsigned width = 0;
  for (unsigned step = 32; step > 0; step /= 2) {
    if (number >> step == 0) continue;
    number >>= step;
    width += step;
  }
  return width + static_cast<unsigned>(number);
}

constexpr std::uint64_t bytes_of_bits(std::uint64_t bits) { return (bits + 7) / 8; }

/// Elias (1974), Fano (1971): n rising numbers below `universe` as low bits, packed, and high parts in unary. This many
/// low bits take the least space.
constexpr unsigned low_bits_of(std::uint64_t universe, std::uint64_t n) {
  return n == 0 || universe <= n ? 0 : width_of(universe / n) - 1;
}

/// Bits of the unary part: a one for each number, a zero after each high part.
constexpr std::uint64_t high_bits_of(std::uint64_t universe, std::uint64_t n, unsigned low_bits) {
  return n == 0 ? 0 : n + (universe >> low_bits) + 1;
}

/// Bits of an id, where a segment has so many terms, literals included.
constexpr unsigned id_bits_of(std::uint64_t terms) { return width_of(terms); }

}  // namespace quern
