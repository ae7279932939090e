#pragma once
#include "quern/codec/bit_packing.hpp"
#include "quern/codec/codec.hpp"

/// Simple16 (Zhang, Long, Suel, WWW 2008): a word holds 1 to 28 small values in 28 bits; its top 4 bits select one of
/// 16 ways to divide them. formats/codec/simple16.md has the table. The published NewPFD codes its exceptions with it.
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

namespace quern::old_newpfd {

// The published layout of NewPFD blocks, for reading only: Simple16 codes the exceptions. formats/codec/simple16.md
// describes it.

/// Maximum number of exceptions per stream of a block.
inline constexpr unsigned max_exceptions = 127;

/// Widths that a header can express: 0 to 30, and 32, coded as 31.
constexpr unsigned width_of_code(unsigned code) { return code == 31 ? 32 : code; }
constexpr unsigned code_of_width(unsigned width) { return width == 32 ? 31 : width; }

/// The block's first word, unpacked.
struct Header {
  unsigned docid_width = 0, docid_exceptions = 0;
  unsigned freq_width = 0, freq_exceptions = 0;
  unsigned docid_exception_words = 0;

  constexpr explicit Header(std::uint32_t word)
      : docid_width(width_of_code(word & 31)),
        docid_exceptions(word >> 5 & 127),
        freq_width(width_of_code(word >> 12 & 31)),
        freq_exceptions(word >> 17 & 127),
        docid_exception_words(word >> 24) {}
  constexpr Header() = default;

  constexpr std::uint32_t word() const {
    return code_of_width(docid_width) | docid_exceptions << 5 | code_of_width(freq_width) << 12 |
           freq_exceptions << 17 | docid_exception_words << 24;
  }

  /// The docIDs' slots follow the header word. All offsets count from the start of the block.
  static constexpr std::uint64_t docid_slots_bit() { return 32; }
  constexpr std::uint64_t freq_slots_bit(unsigned n) const {
    return docid_slots_bit() + std::uint64_t{n} * docid_width;
  }
  constexpr std::uint64_t slots_end_bit(unsigned n) const { return freq_slots_bit(n) + std::uint64_t{n} * freq_width; }
  /// The first word of the docIDs' exceptions, and of the frequencies'.
  constexpr std::uint64_t docid_exceptions_word(unsigned n) const { return words_of_bits(slots_end_bit(n)); }
  constexpr std::uint64_t freq_exceptions_word(unsigned n) const {
    return docid_exceptions_word(n) + docid_exception_words;
  }
};

}  // namespace quern::old_newpfd
