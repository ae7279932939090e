#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "quern/codec/codec.hpp"
#include "quern/codec/newpfd_layout.hpp"

namespace quern::newpfd {

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
  /// What is left of the greatest value.
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

}  // namespace quern::newpfd
