#include "quern/codec/newpfd_widths.hpp"

#include <algorithm>
#include <bit>
#include <iterator>

namespace quern::newpfd {
namespace {

/// Values counted per step.
constexpr std::size_t step = 8;

}  // namespace

void WidthSearch::begin(std::span<const std::uint32_t> values) {
  std::copy(values.begin(), values.end(), values_.begin());
  count_ = values.size();
  size_ = (values.size() + step - 1) / step * step;
  std::fill(values_.begin() + static_cast<std::ptrdiff_t>(values.size()),
            values_.begin() + static_cast<std::ptrdiff_t>(size_), 0);
  std::array<std::uint32_t, step> greatest{};
  for (std::size_t i = 0; i < size_; i += step)
    for (std::size_t j = 0; j < step; ++j) greatest[j] = std::max(greatest[j], values_[i + j]);
  greatest_ = *std::max_element(greatest.begin(), greatest.end());
  best_bits_ = ~std::uint64_t{0};
}

std::uint64_t WidthSearch::count_from(std::uint64_t threshold) const {
  if (threshold > greatest_) return 0;
  const auto least = static_cast<std::uint32_t>(threshold);
  std::array<std::uint32_t, step> counts{};
  for (std::size_t i = 0; i < size_; i += step)
    for (std::size_t j = 0; j < step; ++j) counts[j] += values_[i + j] >= least ? 1 : 0;
  std::uint64_t count = 0;
  for (const std::uint32_t part : counts) count += part;
  return count;
}

WidthSearch::Reached WidthSearch::exceptions(const Reached& reached, unsigned width) const {
  Reached above = reached;
  ++above.array;
  above.shift += width;
  above.threshold += std::uint64_t{1} << above.shift;
  above.values = count_from(above.threshold);
  above.bits += reached.values * (width + 1) + array_cost;  // slots and mask
  return above;
}

void WidthSearch::end(const Reached& reached, unsigned width) {
  // Slots of 31 bits don't exist.
  const unsigned named = reached.array == 0 && width == 31 ? 32 : width;
  const std::uint64_t bits = reached.bits + reached.values * named;
  if (named > max_width(reached.array) || bits >= best_bits_) return;
  Arrays arrays = tried_;
  arrays.count = reached.array + 1;
  arrays.widths[reached.array] = named;
  std::fill(arrays.widths + arrays.count, std::end(arrays.widths), 0);
  if (!arrays.are_allowed()) return;
  best_bits_ = bits;
  best_ = arrays;
}

void WidthSearch::search(const Reached& reached) {
  const auto whole = static_cast<unsigned>(std::bit_width(rest(reached)));
  end(reached, whole);
  if (reached.array + 1 == max_arrays) return;
  const unsigned greatest = std::min(max_width(reached.array), 30u);
  for (unsigned width = 0; width < whole && width <= greatest; ++width) {
    if (reached.bits + reached.values * (width + 1) + array_cost >= best_bits_) break;
    const Reached above = exceptions(reached, width);
    if (above.values > max_values(above.array, count_)) continue;
    if (above.bits + (rest(above) == 0 ? 0 : above.values) >= best_bits_) continue;
    tried_.widths[reached.array] = width;
    search(above);
  }
}

void WidthSearch::try_out(const Arrays& arrays) {
  Reached reached;
  reached.values = count_;
  for (unsigned array = 0;; ++array) {
    const auto whole = static_cast<unsigned>(std::bit_width(rest(reached)));
    if (array + 1 == arrays.count || whole <= arrays.widths[array]) return end(reached, whole);
    tried_.widths[array] = arrays.widths[array];
    reached = exceptions(reached, arrays.widths[array]);
    if (reached.values > max_values(reached.array, count_)) return;
  }
}

Arrays WidthSearch::find(std::span<const std::uint32_t> values, const Arrays& likely) {
  begin(values);
  // Tried first only as a bound: among arrays of the same size, the choice must not depend on other values.
  try_out(likely);
  if (best_bits_ != ~std::uint64_t{0}) ++best_bits_;
  Reached all;
  all.values = count_;
  search(all);
  return best_;
}

}  // namespace quern::newpfd
