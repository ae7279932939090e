#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "quern/codec/codec.hpp"
#include "quern/codec/newpfd_layout.hpp"

namespace quern::newpfd {

/// Finds the arrays that code the values of a stream in the fewest bits.
///
/// A value v is an exception of array k if v >= T_k, where T_0 = 2^b_0 and T_k = T_(k-1) + 2^(b_0 + ... + b_k): each
/// array takes b_k bits, and 1, off the high part. So it suffices to count the values from some thresholds on.
class WidthSearch {
 public:
  /// The arrays for these values, at most max_block_size. It is quicker if `likely` ones, of other values, are nearly
  /// as good; the result is the same. Counts `array_cost` bits for each array after the first, so that none is made for
  /// less. The second array has at most half as many values or 64, the third a quarter or 32: decoders keep so many in
  /// registers, and to allow more saves one bit in a hundred.
  Arrays find(std::span<const std::uint32_t> values, const Arrays& likely);
  /// The most values that find() lets an array have, of `values` in the first.
  static constexpr std::uint64_t most_values(unsigned array, std::uint64_t values) {
    return array == 1   ? std::max<std::uint64_t>(64, values / 2)
           : array == 2 ? std::max<std::uint64_t>(32, values / 4)
                        : max_block_size;
  }

  /// Bits that the arrays take which find() returned last, masks included.
  std::uint64_t bits() const { return best_bits_ - array_cost * (best_.count - 1); }

  static constexpr unsigned array_cost = 8;

 private:
  /// Values that reach an array: how many, what was taken off them, and by how many bits they were shifted.
  struct Reached {
    unsigned array = 0;
    std::uint64_t values = 0, threshold = 0;
    unsigned shift = 0;
    std::uint64_t bits = 0;  ///< that all arrays before take
  };

  void begin(std::span<const std::uint32_t> values);
  std::uint64_t count_from(std::uint64_t threshold) const;
  /// What the greatest value has left.
  std::uint64_t rest(const Reached& reached) const { return (greatest_ - reached.threshold) >> reached.shift; }
  /// The values that are exceptions with slots of that width.
  Reached exceptions(const Reached& reached, unsigned width) const;
  /// Tries all widths of an array, and of those after it.
  void search(const Reached& reached);
  /// Tries these.
  void try_out(const Arrays& arrays);
  /// The array takes all that is left of the values.
  void end(const Reached& reached, unsigned width);

  alignas(32) std::array<std::uint32_t, max_block_size> values_;
  std::size_t count_ = 0, size_ = 0;  ///< values, and with zeros after them up to a whole register
  std::uint64_t greatest_ = 0;
  Arrays tried_, best_;
  std::uint64_t best_bits_ = 0;
};

}  // namespace quern::newpfd
