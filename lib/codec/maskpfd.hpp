#pragma once
#include "quern/codec/bit_packing.hpp"
#include "quern/codec/codec.hpp"

/// The layout of a maskpfd block, specified in formats/codec/maskpfd.md. Nothing here reads memory, so CPU and GPU
/// decoders share it.
namespace quern::maskpfd {

/// Maximum number of arrays of a stream: its values, the high parts of their exceptions, and two more levels of these.
inline constexpr unsigned max_arrays = 4;

/// Bits for each array's slot width in a stream's half of the header, from the low bits up: 5, 4, 4, 3.
constexpr unsigned width_bits(unsigned array) { return array == 0 ? 5 : array + 1 < max_arrays ? 4 : 3; }

/// The greatest slot width of an array. The values' width can't be 31.
constexpr unsigned max_width(unsigned array) { return array == 0 ? 32 : (1u << width_bits(array)) - 2; }

/// The arrays of a stream.
struct Arrays {
  unsigned count = 1;
  unsigned widths[max_arrays] = {};  ///< slot widths; 0 for missing arrays

  constexpr Arrays() = default;
  /// Reads a stream's half of the header. The first array always exists, and codes width 32 as 31; the field of another
  /// is its width plus 1, or 0 if it and all later ones are missing.
  constexpr explicit Arrays(std::uint32_t half) {
    widths[0] = half & 31;
    if (widths[0] == 31) widths[0] = 32;
    half >>= width_bits(0);
    unsigned present = 1;  // branch-free, since the count is practically random
    for (unsigned array = 1; array < max_arrays; ++array) {
      const unsigned field = half & low_mask(width_bits(array));
      half >>= width_bits(array);
      present &= field != 0 ? 1u : 0u;
      widths[array] = (field - 1) & (0 - present);
      count += present;
    }
  }

  /// Whether all slots leave bits for their high parts, and no high part can be 2^15 or more: decoders add them in 16
  /// bits.
  constexpr bool are_allowed() const { return (count == 1 || widths[0] != 32) && greatest_high() < 1u << 15; }

  /// The greatest high part that an exception can have; 0 without exceptions.
  constexpr std::uint64_t greatest_high() const {
    std::uint64_t greatest = 0;
    for (unsigned array = max_arrays - 1; array > 0; --array)
      greatest = (greatest + (array < count ? 1 : 0)) << widths[array];
    return greatest;
  }

  constexpr std::uint32_t half() const {
    std::uint32_t half = widths[0] == 32 ? 31 : widths[0];
    unsigned bit = width_bits(0);
    for (unsigned array = 1; array < count; bit += width_bits(array), ++array) half |= (widths[array] + 1) << bit;
    return half;
  }
};

/// Number of a stream's arrays of high parts.
inline constexpr unsigned high_arrays = max_arrays - 1;

/// Positions of the arrays of a stream's high parts: each one's mask, with a bit for each value of the array above, and
/// its slots. Bits count from the start of the block, here and below.
struct HighPlaces {
  struct Array {
    std::uint32_t mask_bit = 0, slots_bit = 0;
    std::uint32_t above = 0;  ///< size of the array above; 0 if there is none
    std::uint32_t size = 0;   ///< number of values
  };
  Array arrays[high_arrays];
};

/// The block's first word, unpacked.
struct Header {
  Arrays docids, freqs;

  constexpr Header() = default;
  constexpr explicit Header(std::uint32_t word) : docids(word & 0xffff), freqs(word >> 16) {}

  constexpr std::uint32_t word() const { return docids.half() | freqs.half() << 16; }

  /// Bits of each half, and of both.
  static constexpr unsigned half_bits = 16, bits = 32;

  /// The header is followed by the values' mask of each stream with exceptions, and then by the slots.
  constexpr std::uint32_t docid_slots_bit(unsigned n) const {
    return bits + n * ((docids.count > 1 ? 1 : 0) + (freqs.count > 1 ? 1 : 0));
  }
  constexpr std::uint32_t freq_slots_bit(unsigned n) const { return docid_slots_bit(n) + n * docids.widths[0]; }
  constexpr std::uint32_t slots_end_bit(unsigned n) const { return freq_slots_bit(n) + n * freqs.widths[0]; }

  /// Finds all arrays of high parts in a block of `words` words, which must contain the slots. They are followed by the
  /// masks of the high parts, array by array with the streams alternating, and then by their slots, stream by stream.
  /// Fills in above, size and slots_bit of each array; put_mask(array, i, stream, bit) does the rest for array i of a
  /// stream, whose mask of array.above bits is at `bit`, within the block; it returns the number of its ones. Sets
  /// `end` to the end of the block, in bits. False if the block ends too early.
  template <class Places, class PutMask>
  constexpr bool find(unsigned n, std::uint64_t words, Places& docid_places, Places& freq_places, std::uint32_t& end,
                      PutMask&& put_mask) const {
    std::uint32_t bit = bits;
    bool fits = true;
    const auto find_mask = [&](const Arrays& stream, Places& places, unsigned i, std::uint32_t above) {
      auto& array = places.arrays[i];
      array.above = i + 1 < stream.count ? above : 0;
      bit += array.above;
      fits = fits && bit <= 32 * words;
      array.size = fits ? put_mask(array, i, stream, bit - array.above) : 0;
    };
    find_mask(docids, docid_places, 0, n);
    find_mask(freqs, freq_places, 0, n);
    bit = slots_end_bit(n);
    for (unsigned i = 1; i < high_arrays; ++i) {
      find_mask(docids, docid_places, i, docid_places.arrays[i - 1].size);
      find_mask(freqs, freq_places, i, freq_places.arrays[i - 1].size);
    }
    const auto find_slots = [&](const Arrays& stream, Places& places) {
      for (unsigned i = 0; i < high_arrays; ++i) {
        places.arrays[i].slots_bit = bit;
        bit += places.arrays[i].size * stream.widths[i + 1];
      }
    };
    find_slots(docids, docid_places);
    find_slots(freqs, freq_places);
    end = bit;
    return fits && bit <= 32 * words;
  }
};

/// Finds the arrays that code a stream's values in the fewest bits.
///
/// A value v is an exception of array k if v >= T_k, where T_0 = 2^b_0 and T_k = T_(k-1) + 2^(b_0 + ... + b_k): each
/// array removes b_k bits, and 1, from the high part. So it suffices to count the values at or above some thresholds.
class WidthSearch {
 public:
  /// The best arrays for these values, at most max_block_size. Faster if the arrays `likely` of other values are almost
  /// as good; the result is the same. Each array after the first is charged `array_cost` bits, so it must save more
  /// than that. The second array may have at most half of the values or 64, the third a quarter or 32: decoders keep
  /// that many in registers, and a higher limit would save only one percent.
  Arrays find(std::span<const std::uint32_t> values, const Arrays& likely);
  /// The maximum size of an array in find()'s result, where the first array has `values` values.
  static constexpr std::uint64_t max_values(unsigned array, std::uint64_t values) {
    return array == 1   ? std::max<std::uint64_t>(64, values / 2)
           : array == 2 ? std::max<std::uint64_t>(32, values / 4)
                        : max_block_size;
  }

  /// Bits of the arrays that find() last returned, masks included.
  std::uint64_t bits() const { return best_bits_ - array_cost * (best_.count - 1); }

  static constexpr unsigned array_cost = 8;

 private:
  /// Values that reach an array: their number, the threshold subtracted from them, and the bits shifted out.
  struct Reached {
    unsigned array = 0;
    std::uint64_t values = 0, threshold = 0;
    unsigned shift = 0;
    std::uint64_t bits = 0;  ///< bits of all earlier arrays
  };

  void begin(std::span<const std::uint32_t> values);
  std::uint64_t count_from(std::uint64_t threshold) const;
  /// The greatest value's remaining high bits.
  std::uint64_t rest(const Reached& reached) const { return (greatest_ - reached.threshold) >> reached.shift; }
  /// The values that are exceptions for slots of this width.
  Reached exceptions(const Reached& reached, unsigned width) const;
  /// Tries all widths of an array and of the later ones.
  void search(const Reached& reached);
  /// Tries these arrays.
  void try_out(const Arrays& arrays);
  /// Ends with an array that holds all remaining bits of the values.
  void end(const Reached& reached, unsigned width);

  alignas(32) std::array<std::uint32_t, max_block_size> values_;
  std::size_t count_ = 0, size_ = 0;  ///< number of values, without and with padding zeros to a full register
  std::uint64_t greatest_ = 0;
  Arrays tried_, best_;
  std::uint64_t best_bits_ = 0;
};

}  // namespace quern::maskpfd
