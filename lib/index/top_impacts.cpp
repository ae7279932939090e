#include "quern/index/top_impacts.hpp"

#include <array>
#include <functional>

namespace quern {
namespace {

/// Moves the values with goes_first(value) to the front and returns their number. Branch-free, since values are
/// unpredictable (A. Alexandrescu: Lomuto's Comeback, 2020).
template <class GoesFirst>
std::size_t partition(std::span<float> values, GoesFirst&& goes_first) {
  std::size_t first = 0;
  for (float& place : values) {
    const float value = place;
    place = values[first];
    values[first] = value;
    first += goes_first(value) ? 1 : 0;
  }
  return first;
}

/// A value that about `rank` values exceed, estimated from a sample.
float pivot_of(std::span<const float> values, std::size_t rank) {
  std::array<float, 5> sample;
  for (std::size_t i = 0; i < sample.size(); ++i) sample[i] = values[values.size() * i / sample.size()];
  std::sort(sample.begin(), sample.end(), std::greater<>());
  return sample[sample.size() * (rank - 1) / values.size()];
}

}  // namespace

void put_greatest_first(std::span<float> values, std::size_t count) {
  // Give up after many bad pivots; std::nth_element() handles any values.
  constexpr std::size_t few = 16;
  constexpr unsigned max_rounds = 32;
  for (unsigned round = 0; round < max_rounds && values.size() > few; ++round) {
    const float pivot = pivot_of(values, count);
    const std::size_t greater = partition(values, [&](float value) { return value > pivot; });
    if (count <= greater) {
      values = values.first(greater);
      continue;
    }
    values = values.subspan(greater);
    count -= greater;
    const std::size_t equal = partition(values, [&](float value) { return !(value < pivot); });
    if (count <= equal) return;
    values = values.subspan(equal);
    count -= equal;
  }
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count) - 1, values.end(),
                   std::greater<>());
}

}  // namespace quern
