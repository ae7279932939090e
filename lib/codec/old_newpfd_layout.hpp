#pragma once
#include <cstdint>

#include "quern/codec/bit_packing.hpp"

/// The layout of NewPFD blocks up to index version 3, for reading only: Simple16 codes the exceptions. See
/// formats/codec/newpfd.md.
namespace quern::old_newpfd {

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
