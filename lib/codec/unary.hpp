#pragma once
#include <bit>
#include <cstdint>

#include "quern/codec/kernel_parts.hpp"

/// Unary numbers in a bit string, low bits first: q ones, then a zero, the number's terminator.
namespace quern {

/// Positions after the n asked for that functions which find terminators may write.
inline constexpr unsigned unary_slack = 72;

/// Kernels::find_terminators one by one, for bit strings of any length.
template <class Position>
bool find_each_terminator(const std::uint32_t* words, std::uint64_t bit_offset, std::uint64_t bits, unsigned n,
                          Position* positions) {
  constexpr unsigned step = 32;
  unsigned found = 0;
  for (std::uint64_t at = 0; at < bits && found < n; at += step) {
    auto terminators = static_cast<std::uint32_t>(~bits_from(words, bit_offset + at));
    for (; terminators != 0; terminators &= terminators - 1)
      positions[found++] = static_cast<Position>(at + static_cast<unsigned>(std::countr_zero(terminators)));
  }
  return found >= n && positions[n - 1] < bits;
}

/// The number before terminator i.
template <class Position>
std::uint32_t quotient_at(const Position* positions, unsigned i) {
  return static_cast<Position>(positions[i] - positions[static_cast<int>(i) - 1] - 1);
}

/// The numbers before the terminators up to i: all bits before it but i are ones.
template <class Position>
std::uint32_t summed_quotient_at(const Position* positions, unsigned i) {
  return static_cast<Position>(positions[i] - i);
}

/// Kernels::add_quotients for positions of any size.
template <class Position>
void add_each_quotient(const Position* positions, unsigned width, unsigned n, std::uint32_t* out) {
  for (unsigned i = 0; i < n; ++i) out[i] += quotient_at(positions, i) << width;
}

/// Kernels::add_summed_quotients, likewise.
template <class Position>
void add_each_summed_quotient(const Position* positions, unsigned width, unsigned n, std::uint32_t* out) {
  for (unsigned i = 0; i < n; ++i) out[i] += summed_quotient_at(positions, i) << width;
}

}  // namespace quern
