#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "quern/formats/rankers/ranker_model.hpp"

namespace quern {

/// Whether a feature's value, cut to an integer, is one of a tree input's categories.
inline bool is_in_categories(const TreeInput& input, float x) {
  if (!(x > -1.0f && x < 4294967296.0f)) return false;
  return std::binary_search(input.categories.begin(), input.categories.end(), static_cast<std::uint32_t>(x));
}

/// What a tree reads where a feature has the value x; NaN if that is missing.
inline float input_value(const TreeInput& input, float x) {
  switch (input.kind) {
    case TreeInputKind::zero_missing:
      return std::fabs(x) <= 1e-35f ? std::numeric_limits<float>::quiet_NaN() : x;
    case TreeInputKind::nan_is_zero:
      return x != x ? 0.0f : x;
    case TreeInputKind::in_categories:
      if (x != x) return x;
      return is_in_categories(input, x) ? 0.0f : 1.0f;
    default:
      return x;
  }
}

/// Whether a document with this value of a node's input, NaN if it is missing, goes left.
inline bool goes_left(float value, float threshold, bool missing_left) {
  return value <= threshold || (missing_left && value != value);
}

/// What a linear model reads where a feature has the value x: 0 if that is missing.
inline double linear_input(float x) { return x == x ? static_cast<double>(x) : 0.0; }

/// A score as rankers return it: NaN has one sign and no contents, which processors choose differently.
inline double settled(double score) { return score == score ? score : std::numeric_limits<double>::quiet_NaN(); }

}  // namespace quern
