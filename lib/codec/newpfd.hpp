#pragma once
#include "quern/codec/bit_packing.hpp"
#include "quern/codec/codec.hpp"

/// Simple16 (Zhang, Long, Suel, WWW 2008), in which NewPFD codes its exceptions: a word holds 1 to 28 small values in
/// 28 bits; its top 4 bits select one of 16 ways to divide them. formats/codec/newpfd.md has the table.
namespace quern::simple16 {

/// Bits of a word for values. Wider values can't be coded.
inline constexpr unsigned max_width = 28;

/// The division of a word: `count` values of `width` bits, the `wide` ones from number `first_wide` on a bit wider.
struct Way {
  std::uint8_t count = 0, width = 0, first_wide = 0, wide = 0;

  constexpr unsigned width_of(unsigned i) const { return width + (i - first_wide < wide ? 1 : 0); }
  constexpr unsigned bit_of(unsigned i) const {
    const int wider = static_cast<int>(i) - first_wide;
    return i * width + static_cast<unsigned>(wider < 0 ? 0 : wider < wide ? wider : wide);
  }
};

/// The way of a word: the values have 28 / count bits, and one more as far as some are left over. Its tables are
/// constants, a byte and 4 bits per way, since GPUs can't read arrays of the host.
constexpr Way way_of(std::uint32_t word) {
  constexpr std::uint64_t low_counts = 0x0708090e1515151c, high_counts = 0x0102030405050606,
                          first_wide = 0x000020200100e700;
  const unsigned way = word >> 28;
  const auto count = static_cast<std::uint8_t>((way < 8 ? low_counts : high_counts) >> 8 * (way % 8));
  return {count, static_cast<std::uint8_t>(max_width / count), static_cast<std::uint8_t>(first_wide >> 4 * way & 15),
          static_cast<std::uint8_t>(max_width % count)};
}

/// Values past the count that plan() reads.
inline constexpr unsigned plan_slack = 32;
/// Values past the count that Kernels::simple16 may write.
inline constexpr unsigned decode_slack = 128;

/// Chooses the way of each word for values of these bit widths (at most max_width), followed by plan_slack zeros: the
/// first in which the next values fit. `ways` has space for `count`. Returns the number of words.
unsigned plan(const std::uint8_t* widths, unsigned count, std::uint8_t* ways);

/// Writes the words of the values for which plan() chose these ways.
void encode(const std::uint32_t* values, unsigned count, const std::uint8_t* ways, std::uint32_t* to);

/// The first word with a value that isn't narrow: only words of the last way, with a single value, have such.
inline constexpr std::uint32_t first_wide_word = 0xf0000000 + narrow_values;

/// Words that kernels decode per step, even if fewer are needed: a branch for each would cost more.
inline constexpr unsigned words_at_a_time = 4;

/// The number of values in those of the `taken` words that are past the `size` of the stream, fewer than
/// words_at_a_time. Branch-free, since their number is practically random.
inline std::uint64_t values_past(const std::uint32_t* words, std::size_t size, std::size_t taken) {
  std::uint64_t values = 0;
  for (unsigned back = 1; back < words_at_a_time; ++back)
    values += taken >= size + back ? way_of(words[taken - back]).count : 0;
  return values;
}

/// Reads the values of a stream in order.
class Reader {
 public:
  constexpr Reader(const std::uint32_t* from, const std::uint32_t* end) : next_(from), end_(end) {}

  /// False past the last word's values.
  constexpr bool operator()(std::uint32_t& value) {
    if (place_ == way_.count && !load()) return false;
    const unsigned width = way_.width_of(place_++);
    value = bits_ & low_mask(width);
    bits_ >>= width;
    return true;
  }

  /// Skips values, most of them word by word.
  constexpr bool skip(unsigned count) {
    while (count > way_.count - place_) {
      count -= way_.count - place_;
      if (!load()) return false;
    }
    std::uint32_t skipped = 0;
    for (; count > 0; --count) (*this)(skipped);
    return true;
  }

  /// The word after those read so far.
  constexpr const std::uint32_t* next_word() const { return next_; }

 private:
  constexpr bool load() {
    if (next_ == end_) return false;
    bits_ = *next_++;
    way_ = way_of(bits_);
    place_ = 0;
    return true;
  }

  const std::uint32_t *next_, *end_;
  std::uint32_t bits_ = 0;  ///< the word's bits from the next value on
  Way way_;
  unsigned place_ = 0;  ///< of the next value in its word
};

}  // namespace quern::simple16

/// The layout of a NewPFD block, specified in formats/codec/newpfd.md. Nothing here reads memory, so CPU and GPU
/// decoders share it.
namespace quern::newpfd {

/// Maximum number of exceptions per stream of a block.
inline constexpr unsigned max_exceptions = 127;

/// Bits that the writer charges for an exception in addition to its size, since it takes time to decode.
inline constexpr unsigned exception_cost = 8;

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

  /// Bits of the header that describe docIDs, and frequencies.
  static constexpr unsigned docid_bits = 20, freq_bits = 12;

  /// The docIDs' slots follow the header word. All offsets count from the start of the block.
  static constexpr std::uint32_t docid_slots_bit() { return 32; }
  constexpr std::uint32_t freq_slots_bit(unsigned n) const { return docid_slots_bit() + n * docid_width; }
  constexpr std::uint32_t slots_end_bit(unsigned n) const { return freq_slots_bit(n) + n * freq_width; }
  /// The first word of the docIDs' exceptions, and of the frequencies'.
  constexpr std::uint32_t docid_exceptions_word(unsigned n) const {
    return static_cast<std::uint32_t>(words_of_bits(slots_end_bit(n)));
  }
  constexpr std::uint32_t freq_exceptions_word(unsigned n) const {
    return docid_exceptions_word(n) + docid_exception_words;
  }
};

}  // namespace quern::newpfd
