#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>

#include "quern/formats/rankers/ranker_model.hpp"

/// What trees and linear models read, for the CPU and GPUs.
namespace quern {

/// Whether a feature's value, cut to an integer, is one of these categories, which rise.
constexpr bool is_in_categories(const std::uint32_t* categories, std::size_t count, float x) {
  if (!(x > -1.0f && x < 4294967296.0f)) return false;
  const auto wanted = static_cast<std::uint32_t>(x);
  // Not by std::binary_search(), which gives wrong results in kernels (CUDA 13).
  std::size_t begin = 0, end = count;
  while (begin < end) {
    const std::size_t middle = begin + (end - begin) / 2;
    if (categories[middle] == wanted) return true;
    if (categories[middle] < wanted) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return false;
}

/// What a tree reads where a feature has the value x; NaN if that is missing. `categories` are those of in_categories.
constexpr float input_value(TreeInputKind kind, const std::uint32_t* categories, std::size_t count, float x) {
  switch (kind) {
    case TreeInputKind::zero_missing:
      return (x < 0 ? -x : x) <= 1e-35f ? std::numeric_limits<float>::quiet_NaN() : x;
    case TreeInputKind::nan_is_zero:
      return x != x ? 0.0f : x;
    case TreeInputKind::in_categories:
      if (x != x) return x;
      return is_in_categories(categories, count, x) ? 0.0f : 1.0f;
    default:
      return x;
  }
}
inline float input_value(const TreeInput& input, float x) {
  return input_value(input.kind, input.categories.data(), input.categories.size(), x);
}

/// Whether a document with this value of a node's input, NaN if it is missing, goes left.
constexpr bool goes_left(float value, float threshold, bool missing_left) {
  return value <= threshold || (missing_left && value != value);
}

/// What a linear model reads where a feature has the value x: 0 if that is missing.
constexpr double linear_input(float x) { return x == x ? static_cast<double>(x) : 0.0; }

/// A score as rankers return it: NaN has one sign and no contents, which processors choose differently.
constexpr double settled(double score) { return score == score ? score : std::numeric_limits<double>::quiet_NaN(); }

}  // namespace quern
