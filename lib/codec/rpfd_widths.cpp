#include "quern/codec/rpfd_widths.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

namespace quern::rpfd {
namespace {

/// An exception at depth 0 takes a word for its high part and one for its position gap.
constexpr std::uint64_t raw_exception_bits = 64;

unsigned width_of(std::uint32_t value) { return static_cast<unsigned>(std::bit_width(value)); }

/// Slot widths there are codes for.
bool has_code(unsigned width) { return width != 31; }

}  // namespace

void WidthStatistics::clear() {
  values_ = 0;
  greatest_ = 0;
  shapes_ = {};
  gaps_ = {};
  nested_count_bits_ = {};
}

void WidthStatistics::add(std::span<const std::uint32_t> values) {
  std::array<std::uint32_t, 33> next{}, exceptions{};
  std::uint32_t all = 0;
  for (std::uint32_t i = 0; i < values.size(); ++i) {
    const unsigned width = width_of(values[i]);
    all |= values[i];
    if (width == 0) continue;
    ++shapes_[width][width_of(values[i] & low_mask(width - 1))];
    for (unsigned slot = 0; slot < width; ++slot) {
      ++gaps_[slot][width_of(i - next[slot])];
      ++exceptions[slot];
      next[slot] = i + 1;
    }
  }
  values_ += values.size();
  greatest_ = std::max(greatest_, width_of(all));
  for (unsigned slot = 0; slot < width_of(all); ++slot) nested_count_bits_[slot] += width_of(exceptions[slot]);
}

WidthStatistics::Histogram WidthStatistics::high_parts(unsigned width) const {
  Histogram highs{};
  for (unsigned whole = width + 1; whole <= greatest_; ++whole) {
    const auto& row = shapes_[whole];
    const auto shorter = std::accumulate(row.begin(), row.begin() + width + 1, std::uint64_t{0});
    const auto longer = std::accumulate(row.begin() + width + 1, row.begin() + whole, std::uint64_t{0});
    highs[whole - width - 1] += shorter;
    highs[whole - width] += longer;
  }
  return highs;
}

WidthStatistics::Histogram WidthStatistics::position_gaps(unsigned width) const {
  Histogram gaps{};
  std::copy(gaps_[width].begin(), gaps_[width].end(), gaps.begin());
  return gaps;
}

WidthStatistics::Flat WidthStatistics::best_flat(const Histogram& widths) {
  const std::uint64_t total = std::accumulate(widths.begin(), widths.end(), std::uint64_t{0});
  Flat best{std::numeric_limits<std::uint64_t>::max(), 32};
  std::uint64_t above = 0;
  for (unsigned width = 33; width-- > 0; above += widths[width]) {
    if (!has_code(width)) continue;
    const std::uint64_t bits = total * width + above * raw_exception_bits;
    if (bits <= best.bits) best = {bits, width};
  }
  return best;
}

unsigned WidthStatistics::choose_first(unsigned recursion) const {
  unsigned best = 32;
  std::uint64_t least = 32 * values_;
  for (unsigned width = std::min(greatest_, 30u) + 1; width-- > 0;) {
    std::uint64_t bits = values_ * width;
    if (width < greatest_ && recursion == 0)
      bits += raw_exception_bits * std::accumulate(gaps_[width].begin(), gaps_[width].end(), std::uint64_t{0});
    else if (width < greatest_)
      bits += best_flat(high_parts(width)).bits + best_flat(position_gaps(width)).bits + 2 * nested_count_bits_[width];
    if (bits >= least) continue;
    least = bits;
    best = width;
  }
  return best;
}

void WidthStatistics::choose_below(const Shape& shape, unsigned array, const Histogram& widths, Widths& chosen) {
  const Shape::Array& children = shape.arrays[array];
  if (children.highs == 0) {
    chosen[array] = static_cast<std::uint8_t>(best_flat(widths).width);
    return;
  }
  const std::uint64_t total = std::accumulate(widths.begin(), widths.end(), std::uint64_t{0});
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max(), above = 0;
  Histogram best_highs{}, best_gaps{};
  for (unsigned width = 33; width-- > 0; above += widths[width]) {
    if (!has_code(width)) continue;
    Histogram highs{}, gaps{};
    for (unsigned whole = width + 1; whole <= 32; ++whole)
      highs[whole - width == 1 ? 0 : whole - width] += widths[whole];
    // A gap is below 2^k with probability 1 - (1-p)^(2^k).
    double not_below = total == 0 ? 1 : 1 - static_cast<double>(above) / static_cast<double>(total);
    std::uint64_t placed = 0;
    for (unsigned k = 0; k < 10; ++k, not_below *= not_below) {
      const auto below = k == 9 ? above : static_cast<std::uint64_t>(static_cast<double>(above) * (1 - not_below));
      gaps[k] = below - placed;
      placed = below;
    }
    const std::uint64_t bits = total * width + (above == 0 ? 0 : best_flat(highs).bits + best_flat(gaps).bits);
    if (bits > least) continue;
    least = bits;
    chosen[array] = static_cast<std::uint8_t>(width);
    best_highs = highs;
    best_gaps = gaps;
  }
  choose_below(shape, children.highs, best_highs, chosen);
  choose_below(shape, children.positions, best_gaps, chosen);
}

Widths WidthStatistics::choose(unsigned recursion) const {
  const Shape& shape = shapes[recursion];
  Widths chosen{};
  const unsigned first = choose_first(recursion);
  chosen[0] = static_cast<std::uint8_t>(first);
  if (recursion == 0 || first >= greatest_) return chosen;
  choose_below(shape, shape.arrays[0].highs, high_parts(first), chosen);
  choose_below(shape, shape.arrays[0].positions, position_gaps(first), chosen);
  return chosen;
}

}  // namespace quern::rpfd
