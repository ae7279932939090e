#pragma once
#include <array>
#include <cstdint>
#include <span>

#include "quern/codec/rpfd_layout.hpp"

namespace quern::rpfd {

/// What the widths of a list's arrays are chosen from: gathered block by block in the first pass.
class WidthStatistics {
 public:
  void clear();
  /// The values of one stream of a block.
  void add(std::span<const std::uint32_t> values);
  /// Widths for the smallest size: exact sums at recursion 0 and 1; deeper arrays are taken to have exceptions at
  /// random places.
  Widths choose(unsigned recursion) const;

 private:
  /// Counts of values by bit width.
  using Histogram = std::array<std::uint64_t, 33>;
  /// The smallest size of an array at depth 0, and its width.
  struct Flat {
    std::uint64_t bits;
    unsigned width;
  };

  static Flat best_flat(const Histogram& widths);
  static void choose_below(const Shape& shape, unsigned array, const Histogram& widths, Widths& chosen);
  Histogram high_parts(unsigned width) const;
  Histogram position_gaps(unsigned width) const;
  unsigned choose_first(unsigned recursion) const;

  std::uint64_t values_ = 0;
  unsigned greatest_ = 0;  ///< bit width
  /// By bit width, and bit width without the top bit: a value v >= 2^b has a high part less one, (v >> b) - 1, that
  /// is one bit shorter where v >> b is a power of two.
  std::array<std::array<std::uint32_t, 33>, 33> shapes_{};
  /// For each slot width: the exceptions' position gaps by bit width.
  std::array<std::array<std::uint32_t, 10>, 32> gaps_{};
  /// For each slot width: bits of the blocks' counts of exceptions' exceptions, for one array.
  std::array<std::uint64_t, 32> nested_count_bits_{};
};

}  // namespace quern::rpfd
