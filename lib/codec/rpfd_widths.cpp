#include <bit>
#include <limits>
#include <numeric>

#include "quern/codec/rpfd_layout.hpp"

namespace quern::rpfd {
namespace {

/// An exception at depth 0 takes a word for its high part and one for its position gap.
constexpr std::uint64_t raw_exception_bits = 64;

/// Position gaps cost a step per bit of each value, so they come from a list's first blocks and a sample of the others.
constexpr unsigned whole_blocks = 16, sample_distance = 8;

unsigned width_of(std::uint32_t value) { return static_cast<unsigned>(std::bit_width(value)); }

/// The smallest slot width that has a code.
unsigned slot_width(unsigned width) { return width == 31 ? 32 : width; }

/// The largest bit width of any value; 0 if there are no values.
unsigned max_of(const std::array<std::uint64_t, 33>& widths) {
  unsigned greatest = 32;
  while (greatest > 0 && widths[greatest] == 0) --greatest;
  return greatest;
}

}  // namespace

void WidthStatistics::clear() {
  values_ = 0;
  blocks_ = 0;
  max_ = 0;
  shapes_ = {};
  gaps_ = {};
  nested_count_bits_ = {};
}

void WidthStatistics::add(std::span<const std::uint32_t> values) {
  std::array<std::uint32_t, 33> counts{};
  for (const std::uint32_t value : values) {
    const unsigned width = width_of(value);
    ++counts[width];
    ++shapes_[width][width == 0 ? 0 : width_of(value & low_mask(width - 1))];
  }
  const unsigned greatest = width_of(*std::max_element(values.begin(), values.end()));
  std::uint32_t exceptions = 0;
  for (unsigned slot = greatest; slot-- > 0;) {
    exceptions += counts[slot + 1];
    nested_count_bits_[slot] += width_of(exceptions);
  }
  max_ = std::max(max_, greatest);
  values_ += values.size();
  // Recursion 0 stores position gaps as words of fixed width.
  const bool needs_gaps = recursion_ != 0;
  if (needs_gaps && blocks_ < whole_blocks)
    track_gaps(values, 1);
  else if (needs_gaps && blocks_ % sample_distance == 0)
    track_gaps(values, sample_distance);
  ++blocks_;
}

void WidthStatistics::track_gaps(std::span<const std::uint32_t> values, std::uint32_t weight) {
  std::array<std::uint32_t, 32> next{};
  for (std::uint32_t i = 0; i < values.size(); ++i) {
    const unsigned width = width_of(values[i]);
    for (unsigned slot = 0; slot < width; ++slot) {
      gaps_[slot][width_of(i - next[slot])] += weight;
      next[slot] = i + 1;
    }
  }
}

std::uint64_t WidthStatistics::exceptions(unsigned width) const {
  std::uint64_t count = 0;
  for (unsigned whole = width + 1; whole <= max_; ++whole)
    count += std::accumulate(shapes_[whole].begin(), shapes_[whole].begin() + whole, std::uint64_t{0});
  return count;
}

WidthStatistics::Histogram WidthStatistics::high_parts(unsigned width) const {
  Histogram highs{};
  for (unsigned whole = width + 1; whole <= max_; ++whole) {
    const auto& row = shapes_[whole];
    std::uint64_t shorter = 0, longer = 0;
    for (unsigned rest = 0; rest <= width; ++rest) shorter += row[rest];
    for (unsigned rest = width + 1; rest < whole; ++rest) longer += row[rest];
    highs[whole - width - 1] += shorter;
    highs[whole - width] += longer;
  }
  return highs;
}

WidthStatistics::Histogram WidthStatistics::position_gaps(unsigned width) const {
  Histogram gaps{};
  const auto& sample = gaps_[width];
  const std::uint64_t sampled = std::accumulate(sample.begin(), sample.end(), std::uint64_t{0});
  if (sampled == 0) return gaps;
  const std::uint64_t all = exceptions(width);
  for (unsigned k = 0; k < sample.size(); ++k) gaps[k] = sample[k] * all / sampled;
  return gaps;
}

WidthStatistics::Flat WidthStatistics::best_flat(const Histogram& widths) {
  const unsigned greatest = max_of(widths);
  const std::uint64_t total = std::accumulate(widths.begin(), widths.begin() + greatest + 1, std::uint64_t{0});
  Flat best{std::numeric_limits<std::uint64_t>::max(), 32};
  std::uint64_t above = 0;
  for (unsigned width = greatest + 1; width-- > 0; above += widths[width]) {
    const std::uint64_t bits = total * slot_width(width) + above * raw_exception_bits;
    if (bits <= best.bits) best = {bits, slot_width(width)};
  }
  return best;
}

void WidthStatistics::split_widths(const Histogram& widths, unsigned width, std::uint64_t total, std::uint64_t above,
                                   Histogram& highs, Histogram& gaps) {
  for (unsigned whole = width + 1; whole <= max_of(widths); ++whole) {
    // One of 2^(k-1) numbers of k bits is a power of two; minus one it is one bit shorter.
    const unsigned bits = whole - width;
    const std::uint64_t shorter = widths[whole] >> (bits - 1);
    highs[bits - 1] += shorter;
    highs[bits] += widths[whole] - shorter;
  }
  // A gap is below 2^k with probability 1 - (1-p)^(2^k).
  double not_below = 1 - static_cast<double>(above) / static_cast<double>(total);
  std::uint64_t placed = 0;
  for (unsigned k = 0; k < 10; ++k, not_below *= not_below) {
    const auto below = k == 9 ? above : static_cast<std::uint64_t>(static_cast<double>(above) * (1 - not_below));
    gaps[k] = below - placed;
    placed = below;
  }
}

std::uint64_t WidthStatistics::nested_count_bits(std::uint64_t exceptions) const {
  const std::uint64_t mean = exceptions / blocks_;
  return 2 * (mean == 0 ? exceptions : blocks_ * static_cast<std::uint64_t>(std::bit_width(mean)));
}

template <class Visit>
void WidthStatistics::for_each_width(const Histogram& widths, Visit visit) const {
  const std::uint64_t total = std::accumulate(widths.begin(), widths.end(), std::uint64_t{0});
  std::uint64_t above = 0;
  for (unsigned width = max_of(widths) + 1; width-- > 0; above += widths[width]) {
    if (width == 31 && above != 0) continue;
    Histogram highs{}, gaps{};
    if (above != 0) split_widths(widths, width, total, above, highs, gaps);
    visit(slot_width(width), total * slot_width(width) + nested_count_bits(above), highs, gaps);
  }
}

std::uint64_t WidthStatistics::min_bits(const Histogram& widths, unsigned depth) const {
  if (depth == 0) return best_flat(widths).bits;
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  for_each_width(widths, [&](unsigned, std::uint64_t array_bits, const Histogram& highs, const Histogram& gaps) {
    least = std::min(least, array_bits + best_flat(highs).bits + best_flat(gaps).bits);
  });
  return least;
}

void WidthStatistics::choose_below(unsigned array, unsigned depth, const Histogram& widths, Widths& chosen) const {
  if (depth == 0) {
    chosen[array] = static_cast<std::uint8_t>(best_flat(widths).width);
    return;
  }
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  Histogram best_highs{}, best_gaps{};
  const unsigned estimated_depth = std::min(depth - 1, 1u);
  for_each_width(widths, [&](unsigned width, std::uint64_t array_bits, const Histogram& highs, const Histogram& gaps) {
    const std::uint64_t bits = array_bits + min_bits(highs, estimated_depth) + min_bits(gaps, estimated_depth);
    if (bits > least) return;
    least = bits;
    chosen[array] = static_cast<std::uint8_t>(width);
    best_highs = highs;
    best_gaps = gaps;
  });
  const Shape::Array& children = shapes[recursion_].arrays[array];
  choose_below(children.highs, depth - 1, best_highs, chosen);
  choose_below(children.positions, depth - 1, best_gaps, chosen);
}

unsigned WidthStatistics::choose_first() const {
  unsigned best = 32;
  std::uint64_t least = 32 * values_;
  const unsigned estimated_depth = recursion_ == 0 ? 0 : std::min(recursion_ - 1, 1u);
  for (unsigned width = std::min(max_, 30u) + 1; width-- > 0;) {
    std::uint64_t bits = values_ * width;
    if (width < max_ && recursion_ == 0)
      bits += raw_exception_bits * exceptions(width);
    else if (width < max_)
      bits += min_bits(high_parts(width), estimated_depth) + min_bits(position_gaps(width), estimated_depth) +
              2 * nested_count_bits_[width];
    if (bits >= least) continue;
    least = bits;
    best = width;
  }
  return best;
}

Widths WidthStatistics::choose() const {
  Widths chosen{};
  const unsigned first = choose_first();
  chosen[0] = static_cast<std::uint8_t>(first);
  if (recursion_ == 0 || first >= max_) return chosen;
  const Shape::Array& children = shapes[recursion_].arrays[0];
  choose_below(children.highs, recursion_ - 1, high_parts(first), chosen);
  choose_below(children.positions, recursion_ - 1, position_gaps(first), chosen);
  return chosen;
}

}  // namespace quern::rpfd
