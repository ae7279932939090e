#pragma once
#include "quern/codec/bit_packing.hpp"

/// The layout of a Rice-coded list and its blocks, specified in formats/codec/rice.md. Nothing here reads memory, so
/// CPU and GPU decoders share it.
namespace quern::rice {

inline constexpr unsigned max_width = 31;
/// In a half of the block header: the length is in a separate word.
inline constexpr std::uint32_t long_length = 0xffff;

/// The list header: bits of a remainder, for the whole list.
struct Widths {
  unsigned docid = 0, freq = 0;

  constexpr std::uint32_t word() const { return docid | freq << 5 | 1u << 10; }
  static constexpr Widths from_word(std::uint32_t word) { return {word & 31, word >> 5 & 31}; }
  /// Above the widths stands a single 1.
  static constexpr bool is_valid(std::uint32_t word) { return word >> 10 == 1; }
  /// Bits of the list header attributed to docIDs and to frequencies.
  static constexpr unsigned docid_bits = 27, freq_bits = 5;
};

/// Lengths of the unary parts in bits; each at least n.
struct UnaryBits {
  std::uint32_t docid = 0, freq = 0;
};

constexpr bool is_long(std::uint32_t length) { return length >= long_length; }

constexpr std::uint32_t header_word(UnaryBits lengths) {
  return (is_long(lengths.docid) ? long_length : lengths.docid) | (is_long(lengths.freq) ? long_length : lengths.freq)
                                                                      << 16;
}
/// Words of the block header, including separate length words.
constexpr unsigned header_words(std::uint32_t first_word) {
  return 1u + ((first_word & 0xffff) == long_length) + (first_word >> 16 == long_length);
}

/// Offsets in words or bits from the start of the block.
struct Layout {
  std::uint64_t bit_string_word;
  std::uint64_t docid_remainders_bit, freq_remainders_bit, docid_unary_bit, freq_unary_bit, end_bit;

  constexpr Layout(Widths widths, unsigned n, UnaryBits unary)
      : bit_string_word(header_words(header_word(unary))),
        docid_remainders_bit(32 * bit_string_word),
        freq_remainders_bit(docid_remainders_bit + std::uint64_t{n} * widths.docid),
        docid_unary_bit(freq_remainders_bit + std::uint64_t{n} * widths.freq),
        freq_unary_bit(docid_unary_bit + unary.docid),
        end_bit(freq_unary_bit + unary.freq) {}

  constexpr std::uint64_t words() const { return words_of_bits(end_bit); }
};

}  // namespace quern::rice
