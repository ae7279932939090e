#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <map>
#include <utility>

namespace quern {

/// What a GPU's batch takes besides what its queries add, by their number: copies, kernels that start, and threads that
/// wait for the longest query of a small batch.
class BatchOverhead {
 public:
  /// None.
  BatchOverhead() = default;
  /// Microseconds by numbers of queries, at least 1; none is negative.
  explicit BatchOverhead(std::map<std::size_t, double> us_by_queries) : points_(std::move(us_by_queries)) {}

  /// Of so many queries: on the line between the numbers around it, and that of the nearest one beyond them.
  double us(std::size_t queries) const {
    if (points_.empty()) return 0;
    const auto above = points_.lower_bound(queries);
    if (above == points_.end()) return points_.rbegin()->second;
    if (above == points_.begin()) return above->second;
    const auto& [low, low_us] = *std::prev(above);
    const double share = static_cast<double>(queries - low) / static_cast<double>(above->first - low);
    return low_us + share * (above->second - low_us);
  }

  /// Whether all of these times are finite.
  bool is_finite() const {
    return std::all_of(points_.begin(), points_.end(), [](const auto& point) { return std::isfinite(point.second); });
  }

 private:
  std::map<std::size_t, double> points_;
};

}  // namespace quern
