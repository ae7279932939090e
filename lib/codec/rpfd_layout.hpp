#pragma once
#include <bit>

#include "quern/codec/bit_packing.hpp"

/// The layout of a recursively PForDelta-coded list and its blocks, specified in formats/codec/rpfd.md. Reads memory
/// only through a reader passed in, so CPU and GPU decoders share it.
namespace quern::rpfd {

inline constexpr unsigned max_recursion = 4;
/// Arrays of one stream: the values, and for each array above depth 0 the high parts and the position gaps of its
/// exceptions.
constexpr unsigned arrays_of(unsigned recursion) { return (2u << recursion) - 1; }
inline constexpr unsigned max_arrays = arrays_of(max_recursion);

/// Widths that a code can express: 0 to 30, and 32, coded as 31.
constexpr unsigned width_of_code(unsigned code) { return code == 31 ? 32 : code; }
constexpr unsigned code_of_width(unsigned width) { return width == 32 ? 31 : width; }
inline constexpr unsigned code_bits = 5;

/// The tree of a stream's arrays in preorder: an array, then its subtree of high parts, then its subtree of position
/// gaps.
struct Shape {
  struct Array {
    std::uint8_t parent = 0;
    std::uint8_t highs = 0, positions = 0;  ///< children; 0 at depth 0, which uses 32-bit words instead
  };
  std::array<Array, max_arrays> arrays{};
  unsigned size = 0;

  constexpr explicit Shape(unsigned recursion) { add(0, recursion); }

 private:
  constexpr unsigned add(unsigned parent, unsigned depth) {
    const unsigned own = size++;
    arrays[own].parent = static_cast<std::uint8_t>(parent);
    if (depth == 0) return own;
    arrays[own].highs = static_cast<std::uint8_t>(add(own, depth - 1));
    arrays[own].positions = static_cast<std::uint8_t>(add(own, depth - 1));
    return own;
  }
};

inline constexpr std::array<Shape, max_recursion + 1> shapes = {Shape(0), Shape(1), Shape(2), Shape(3), Shape(4)};

/// Slot widths of a stream's arrays, for the whole list.
using Widths = std::array<std::uint8_t, max_arrays>;

constexpr unsigned list_header_words(unsigned recursion) {
  return static_cast<unsigned>(words_of_bits(2 * code_bits * arrays_of(recursion)));
}

/// Bits of a block's field for the number of exceptions of an array. Slots of 32 bits have none.
constexpr unsigned count_bits(unsigned values, unsigned width) {
  return width == 32 ? 0 : static_cast<unsigned>(std::bit_width(values));
}

/// One stream of a block.
struct Stream {
  std::array<std::uint16_t, max_arrays> values;      ///< number of values of each array
  std::array<std::uint16_t, max_arrays> exceptions;  ///< number of exceptions of each array
  std::array<std::uint32_t, max_arrays> slots_bit;   ///< offset from the start of the block
  std::array<std::uint32_t, max_arrays> raw_word;    ///< at depth 0: highs, then position gaps, a word each

  /// Takes the counts from read(bits), which returns the block's next `bits` bits as a number.
  template <class Read>
  constexpr void count(const Shape& shape, const Widths& widths, unsigned n, Read&& read) {
    for (unsigned i = 0; i < shape.size; ++i) {
      values[i] = i == 0 ? static_cast<std::uint16_t>(n) : exceptions[shape.arrays[i].parent];
      const unsigned bits = count_bits(values[i], widths[i]);
      exceptions[i] = bits == 0 ? std::uint16_t{0} : static_cast<std::uint16_t>(read(bits, values[i]));
    }
  }

  constexpr std::uint64_t bits_of_counts(const Shape& shape, const Widths& widths) const {
    std::uint64_t bits = 0;
    for (unsigned i = 0; i < shape.size; ++i) bits += count_bits(values[i], widths[i]);
    return bits;
  }
  constexpr std::uint64_t bits_of_slots(const Shape& shape, const Widths& widths) const {
    std::uint64_t bits = 0;
    for (unsigned i = 0; i < shape.size; ++i) bits += std::uint64_t{values[i]} * widths[i];
    return bits;
  }
  constexpr std::uint64_t raw_words(const Shape& shape) const {
    std::uint64_t words = 0;
    for (unsigned i = 0; i < shape.size; ++i)
      if (shape.arrays[i].highs == 0) words += 2 * std::uint64_t{exceptions[i]};
    return words;
  }
};

/// The layout of a block whose counts are known.
struct Layout {
  Stream docids, freqs;
  std::uint32_t slots_end_bit = 0;
  std::uint32_t words = 0;

  /// Computes the offsets of all arrays' slots from the bit after the counts: the docIDs' own slots, the frequencies'
  /// own, then all other arrays; then, from a word boundary, raw exceptions.
  constexpr void place(const Shape& shape, const Widths& docid_widths, const Widths& freq_widths,
                       std::uint32_t counts_end_bit) {
    std::uint32_t bit = counts_end_bit;
    place_slots(docids, docid_widths, 0, 1, bit);
    place_slots(freqs, freq_widths, 0, 1, bit);
    place_slots(docids, docid_widths, 1, shape.size, bit);
    place_slots(freqs, freq_widths, 1, shape.size, bit);
    slots_end_bit = bit;
    words = static_cast<std::uint32_t>(words_of_bits(bit));
    place_raw_words(docids, shape);
    place_raw_words(freqs, shape);
  }

 private:
  static constexpr void place_slots(Stream& stream, const Widths& widths, unsigned first, unsigned end,
                                    std::uint32_t& bit) {
    for (unsigned i = first; i < end; ++i) {
      stream.slots_bit[i] = bit;
      bit += stream.values[i] * std::uint32_t{widths[i]};
    }
  }
  constexpr void place_raw_words(Stream& stream, const Shape& shape) {
    for (unsigned i = 0; i < shape.size; ++i) {
      if (shape.arrays[i].highs != 0) continue;
      stream.raw_word[i] = words;
      words += 2u * stream.exceptions[i];
    }
  }
};

/// Statistics from which the widths of a list's arrays are chosen, gathered block by block in the first pass.
class WidthStatistics {
 public:
  explicit WidthStatistics(unsigned recursion) : recursion_(recursion) {}
  void clear();
  /// Adds the values of one stream of a block.
  void add(std::span<const std::uint32_t> values);
  /// Widths for the smallest size: exact at recursion 0, and at recursion 1 for lists of few blocks; deeper arrays are
  /// estimated with exceptions at random positions.
  Widths choose() const;

 private:
  /// Counts of values by bit width.
  using Histogram = std::array<std::uint64_t, 33>;
  /// The smallest size of an array at depth 0, and its width.
  struct Flat {
    std::uint64_t bits;
    unsigned width;
  };

  static Flat best_flat(const Histogram& widths);
  /// Estimated widths of the high parts and the position gaps of an array whose values have these widths, with slots of
  /// `width` bits and exceptions at random positions.
  static void split_widths(const Histogram& widths, unsigned width, std::uint64_t total, std::uint64_t above,
                           Histogram& highs, Histogram& gaps);
  /// Calls visit(width, bits of slots and of nested counts, highs, gaps) for each promising slot width.
  template <class Visit>
  void for_each_width(const Histogram& widths, Visit visit) const;
  std::uint64_t nested_count_bits(std::uint64_t exceptions) const;
  /// The estimated size of an array and its subtree, at depth 0 or 1.
  std::uint64_t min_bits(const Histogram& widths, unsigned depth) const;
  void choose_below(unsigned array, unsigned depth, const Histogram& widths, Widths& chosen) const;
  void track_gaps(std::span<const std::uint32_t> values, std::uint32_t weight);
  std::uint64_t exceptions(unsigned width) const;
  Histogram high_parts(unsigned width) const;
  Histogram position_gaps(unsigned width) const;
  unsigned choose_first() const;

  unsigned recursion_;
  std::uint64_t values_ = 0;
  std::uint64_t blocks_ = 0;
  unsigned max_ = 0;  ///< bit width
  /// Counts by bit width, and by bit width without the top bit: a value v >= 2^b has a high part minus one, (v >> b) -
  /// 1, that is one bit shorter if v >> b is a power of two.
  std::array<std::array<std::uint32_t, 33>, 33> shapes_{};
  /// For each slot width: a sample of the exceptions' position gaps, by bit width.
  std::array<std::array<std::uint32_t, 10>, 32> gaps_{};
  /// For each slot width: the size of the blocks' counts of nested exceptions, for one array.
  std::array<std::uint64_t, 32> nested_count_bits_{};
};

}  // namespace quern::rpfd
