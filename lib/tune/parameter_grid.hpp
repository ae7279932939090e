#pragma once
#include "quern/search/point_search.hpp"

/// The values of scoring parameters that are tried.
namespace quern {

/// Values of each parameter; the points of a grid are all combinations.
struct ParameterGrid {
  std::vector<double> k1, b, alpha;

  /// The values, by the parameters' names in messages and reports.
  std::array<std::pair<std::string_view, const std::vector<double>*>, 3> parameters() const {
    return {{{"k1", &k1}, {"b", &b}, {"alpha", &alpha}}};
  }
  /// All points: the first value of k1 with those of b and alpha, then the second.
  std::vector<ScoringPoint> points() const;
};

/// The values of a parameter of a point, in the order of ParameterGrid::parameters().
std::array<double, 3> values_of(const ScoringPoint& point);
ScoringPoint point_of(const std::array<double, 3>& values);

/// The most points of a grid, and the most values of a parameter.
inline constexpr std::uint64_t max_grid_points = 10'000;

/// Throws InvalidArgument if a parameter has no value, one out of range, or one twice; and unless `any_size`, for a
/// grid of more points than max_grid_points.
void check_grid(const ParameterGrid& grid, bool any_size);

/// The values that a text names: a number, or FIRST:LAST:STEP, which are FIRST, FIRST + STEP and so on up to LAST,
/// exact as decimals. Throws InvalidArgument for other texts, without step or with 0, if LAST is below FIRST, and for
/// more values than max_grid_points.
std::vector<double> parameter_values(std::string_view text);

}  // namespace quern
