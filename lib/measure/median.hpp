#pragma once
#include <algorithm>
#include <vector>

namespace quern {

/// The middle value, the greater of the two middle ones where their number is even. There must be one.
/// Repeats are summed up by it: the least time is one that hardly any query sees, and the mean follows every interrupt.
template <class Number>
Number median(std::vector<Number> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace quern
