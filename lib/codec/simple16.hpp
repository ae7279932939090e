#pragma once
#include <array>
#include <cstdint>

#include "quern/codec/codec.hpp"

/// Simple16 (Zhang, Long, Suel, WWW 2008): a word holds 1 to 28 small values in 28 bits; its top 4 bits select one of
/// 16 ways to divide them. formats/codec/simple16.md has the table. NewPFD coded its exceptions with it up to index
/// version 3.
namespace quern {

namespace simple16 {

/// `count` values of `width` bits each.
struct Run {
  std::uint8_t count = 0, width = 0;
};
/// The 16 ways: up to three runs each, from the low bits up. Encoders take the first that fits the next values.
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

}  // namespace simple16

/// Reads the values of a stream in order.
class Simple16Reader {
 public:
  explicit Simple16Reader(WordView from) : from_(from) {}

  /// The next value. Throws CorruptBlock past the last word's values.
  std::uint32_t next();
  /// The number of words read so far.
  std::size_t words() const { return words_; }

 private:
  WordView from_;
  std::size_t words_ = 0;
  std::uint32_t bits_ = 0;                    ///< the word's bits from the next value on
  const simple16::Run* run_ = nullptr;        ///< the next value's run
  unsigned runs_left_ = 0, values_left_ = 0;  ///< runs after this one, and values left in it
};

}  // namespace quern
