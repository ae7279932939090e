#pragma once
#include <cstdint>

/// Unary numbers in a bit string, low bits first: q ones and then a zero, the number's terminator.
namespace quern {

/// Positions behind the n asked for that find_terminators() may write.
inline constexpr unsigned unary_slack = 72;

/// Writes where the first n zeros of `bits` bits from `bit_offset` on stand, counted from there, to `positions`, which
/// has room for n + unary_slack; returns whether there are so many. Reads at most 7 bytes past the bits.
bool find_terminators(const std::uint32_t* words, std::uint64_t bit_offset, std::uint64_t bits, unsigned n,
                      std::uint32_t* positions);

namespace portable {
bool find_terminators(const std::uint32_t* words, std::uint64_t bit_offset, std::uint64_t bits, unsigned n,
                      std::uint32_t* positions);
}  // namespace portable

}  // namespace quern
