#pragma once
#include <array>
#include <cstdint>

#include "quern/codec/codec.hpp"
#include "quern/codec/kernels.hpp"

/// Simple16 (Zhang, Long, Suel, WWW 2008): a word holds 1 to 28 small values in 28 bits, and in its top 4 bits which
/// of 16 ways they are cut. formats/simple16.md has the table. Codes values below 2^28.
namespace quern {

inline constexpr unsigned simple16_max_width = 28;
/// Values past the count asked for that simple16_plan() reads.
inline constexpr unsigned simple16_slack = 32;
/// Values past the count asked for that simple16_decode() may write.
inline constexpr unsigned simple16_decode_slack = 128;

namespace simple16 {

/// `count` values of `width` bits each.
struct Run {
  std::uint8_t count = 0, width = 0;
};
/// The 16 ways: up to three runs each, from the low bits up. The first that fits the next values is taken.
inline constexpr std::array<std::array<Run, 3>, 16> ways = {{
    {{{28, 1}}},
    {{{7, 2}, {14, 1}}},
    {{{7, 1}, {7, 2}, {7, 1}}},
    {{{14, 1}, {7, 2}}},
    {{{14, 2}}},
    {{{1, 4}, {8, 3}}},
    {{{1, 3}, {4, 4}, {3, 3}}},
    {{{7, 4}}},
    {{{4, 5}, {2, 4}}},
    {{{2, 4}, {4, 5}}},
    {{{3, 6}, {2, 5}}},
    {{{2, 5}, {3, 6}}},
    {{{4, 7}}},
    {{{1, 10}, {2, 9}}},
    {{{2, 14}}},
    {{{1, 28}}},
}};

constexpr std::array<std::uint8_t, 16> make_counts() {
  std::array<std::uint8_t, 16> counts{};
  for (unsigned way = 0; way < 16; ++way)
    for (const Run& run : ways[way]) counts[way] = static_cast<std::uint8_t>(counts[way] + run.count);
  return counts;
}

/// Values that a word of each way holds.
inline constexpr std::array<std::uint8_t, 16> counts = make_counts();

}  // namespace simple16

/// Picks the way of each word for values of these bit widths (each at most 28), followed by simple16_slack
/// zeros. `ways` has space for `count`. Returns how many words there are.
unsigned simple16_plan(const std::uint8_t* widths, unsigned count, std::uint8_t* ways);

/// Writes the words of values that were planned so.
void simple16_encode(const std::uint32_t* values, unsigned count, const std::uint8_t* ways, std::uint32_t* to);

/// Words of a stream of `count` values, from the words' ways alone. Throws CorruptFile if `from` ends before.
std::size_t simple16_skip(WordView from, unsigned count);

/// Writes `count` values and up to simple16_decode_slack more, all below narrow_values. Returns false if a word holds a
/// greater value. Throws CorruptFile where `from` ends before the values. Reads up to 60 bytes past its end.
bool simple16_decode_narrow(const Kernels& kernels, WordView from, unsigned count, std::uint16_t* out);

/// Writes `count` values and up to simple16_decode_slack more; returns the words that they take. Throws CorruptFile
/// where `from` ends before them. Reads up to 12 bytes past its end.
std::size_t simple16_decode(const Kernels& kernels, WordView from, unsigned count, std::uint32_t* out);

}  // namespace quern
