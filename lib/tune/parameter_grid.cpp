#include "quern/tune/parameter_grid.hpp"

#include <fmt/format.h>

#include <cmath>

#include "quern/core/bytes.hpp"

namespace quern {
namespace {

/// A decimal number as a whole number of units of 10^-places, so that steps add up without rounding.
struct Decimal {
  std::int64_t units = 0;
  int places = 0;
};

constexpr int max_places = 12;
constexpr std::size_t max_digits = 15;  // whole in a double

std::optional<Decimal> read_decimal(std::string_view text) {
  Decimal decimal;
  std::size_t digits = 0;
  bool in_fraction = false;
  for (const char c : text) {
    if (c == '.' && !in_fraction) {
      in_fraction = true;
      continue;
    }
    if (!is_ascii_digit(c) || ++digits > max_digits) return std::nullopt;
    decimal.units = 10 * decimal.units + (c - '0');
    decimal.places += in_fraction;
  }
  if (digits == 0 || decimal.places > max_places) return std::nullopt;
  return decimal;
}

std::int64_t units_of(const Decimal& decimal, int places) {
  std::int64_t units = decimal.units;
  for (int i = decimal.places; i < places; ++i) units *= 10;
  return units;
}

/// Throws InvalidArgument unless all are decimals whose units fit.
std::array<Decimal, 3> read_range(std::string_view text) {
  std::array<Decimal, 3> range;
  std::size_t read = 0;
  for (std::string_view rest = text; read < 3; ++read) {
    const std::size_t end = rest.find(':');
    const auto decimal = read_decimal(rest.substr(0, end));
    if (!decimal || decimal->units >= 1'000'000'000 || decimal->places > 6)
      throw InvalidArgument("'{}': '{}' is not a decimal such as 0.25, with at most 6 digits after the point", text,
                            rest.substr(0, end));
    range[read] = *decimal;
    if (end == rest.npos) {
      if (read == 1) throw InvalidArgument("'{}' has no step: write FIRST:LAST:STEP, such as 0.4:2.0:0.2", text);
      if (read == 2) return range;
    }
    rest.remove_prefix(end + 1);
  }
  throw InvalidArgument("'{}' has more than FIRST:LAST:STEP, such as 0.4:2.0:0.2", text);
}

void check_values(std::string_view name, const std::vector<double>& values) {
  if (values.empty()) throw InvalidArgument("{}: has no value to try", name);
  if (values.size() > max_grid_points)
    throw InvalidArgument("{}: has {} values to try, but at most {} can be", name, values.size(), max_grid_points);
  std::vector<double> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  if (const auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end())
    throw InvalidArgument("{}: has the value {} twice", name, *twice);
}

}  // namespace

std::vector<ScoringPoint> ParameterGrid::points() const {
  std::vector<ScoringPoint> points;
  points.reserve(k1.size() * b.size() * alpha.size());
  for (const double own_k1 : k1)
    for (const double own_b : b)
      for (const double own_alpha : alpha) points.push_back({{own_k1, own_b}, own_alpha});
  return points;
}

std::array<double, 3> values_of(const ScoringPoint& point) { return {point.bm25.k1, point.bm25.b, point.alpha}; }

ScoringPoint point_of(const std::array<double, 3>& values) { return {{values[0], values[1]}, values[2]}; }

void check_grid(const ParameterGrid& grid, bool any_size) {
  for (const double k1 : grid.k1) check_bm25({k1, 0});
  for (const double b : grid.b) check_bm25({0, b});
  for (const double alpha : grid.alpha) check_range("alpha", alpha, 0, 1);
  double points = 1;
  for (const auto& [name, values] : grid.parameters()) {
    check_values(name, *values);
    points *= static_cast<double>(values->size());
  }
  if (!any_size && points > max_grid_points)
    throw InvalidArgument("a grid of {:.0f} points is too large: the most are {}; take coarser steps, or use {}",
                          points, max_grid_points, option_name<"by-coordinates">);
}

std::vector<double> parameter_values(std::string_view text) {
  if (text.find(':') == text.npos) {
    double value = 0;
    if (!parse_number(text, value) || !std::isfinite(value))
      throw InvalidArgument("'{}' is neither a number nor FIRST:LAST:STEP, such as 0.4:2.0:0.2", text);
    return {value};
  }
  const std::array<Decimal, 3> range = read_range(text);
  int places = 0;
  for (const Decimal& decimal : range) places = std::max(places, decimal.places);
  const std::int64_t first = units_of(range[0], places), last = units_of(range[1], places),
                     step = units_of(range[2], places);
  if (step == 0) throw InvalidArgument("'{}': the step is 0, but must be positive", text);
  if (last < first) throw InvalidArgument("'{}': the last value is below the first", text);
  const auto count = static_cast<std::uint64_t>((last - first) / step) + 1;
  if (count > max_grid_points)
    throw InvalidArgument("'{}' is {} values, but at most {} can be tried; take a coarser step", text, count,
                          max_grid_points);
  std::vector<double> values;
  const double scale = std::pow(10.0, places);  // exact
  for (std::uint64_t i = 0; i < count; ++i)
    values.push_back(static_cast<double>(first + static_cast<std::int64_t>(i) * step) / scale);
  return values;
}

}  // namespace quern
