#pragma once
#include <array>
#include <cstdint>

#include "quern/codec/codec.hpp"

/// Simple16 (Zhang, Long, Suel, WWW 2008): a word holds 1 to 28 small values in 28 bits, and in its top 4 bits which
/// of 16 ways they are cut. formats/codec/simple16.md has the table. NewPFD had its exceptions so until version 3 of
/// the index.
namespace quern {

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

}  // namespace simple16

/// Reads the values of a stream one after another.
class Simple16Reader {
 public:
  explicit Simple16Reader(WordView from) : from_(from) {}

  /// Throws CorruptBlock behind the last word's values.
  std::uint32_t next();
  /// How many words the values took that were read.
  std::size_t words() const { return words_; }

 private:
  WordView from_;
  std::size_t words_ = 0;
  std::uint32_t bits_ = 0;                    ///< of the word, from the next value on
  const simple16::Run* run_ = nullptr;        ///< of the next value
  unsigned runs_left_ = 0, values_left_ = 0;  ///< runs after it, and its values
};

}  // namespace quern
