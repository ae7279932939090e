#pragma once
#include <cstdint>
#include <cstring>

/// Unary numbers in a bit string, low bits first: q ones and then a zero, the number's terminator.
namespace quern {

/// Positions behind the n asked for that Kernels::find_terminators may write.
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

}  // namespace quern
