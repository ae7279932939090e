#pragma once
#include <array>
#include <cstdint>
#include <span>

#include "quern/codec/rpfd_layout.hpp"

namespace quern::rpfd {

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
