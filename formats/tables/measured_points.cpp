#include "quern/formats/tables/measured_points.hpp"

#include <fmt/format.h>

#include <cmath>

#include "quern/formats/tables/text_lines.hpp"

namespace quern {
namespace {

struct PointFunction {
  std::string_view name;
  std::vector<MeasuredPoint> MeasuredPoints::*points;
  bool from_zero = false;  ///< whether x may be 0
};

/// All functions of the files.
constexpr PointFunction point_functions[] = {{"c", &MeasuredPoints::query_us},
                                             {"t", &MeasuredPoints::transfer_us_per_byte},
                                             {"dq", &MeasuredPoints::transfer_bytes, true},
                                             {"c_host", &MeasuredPoints::host_us},
                                             {"c_gpu", &MeasuredPoints::gpu_us},
                                             {"c_alone", &MeasuredPoints::alone_us},
                                             {"t_host", &MeasuredPoints::gather_us_per_byte}};

std::string function_names() {
  std::string names;
  for (const PointFunction& function : point_functions) names.append(names.empty() ? "" : ", ").append(function.name);
  return names;
}

/// Removes the field up to the next comma from `line`; false if it isn't a finite number.
bool take_number(std::string_view& line, double& value) {
  return parse_number(trim(take_until(line, ',')), value) && std::isfinite(value);
}

}  // namespace

MeasuredPoints parse_measured_points(std::string_view text, std::string_view name) {
  MeasuredPoints points;
  points.name = name;
  LineReader lines(without_byte_order_mark(text));
  for (std::string_view line; lines.next(line);) {
    std::string_view rest = line;
    const std::string_view function = trim(take_until(rest, ','));
    if (function == "function" || function.starts_with('#')) continue;
    MeasuredPoint point;
    if (!take_number(rest, point.x) || !take_number(rest, point.y) || !rest.empty())
      fail_at_line(name, lines.number(), "is not function,x,y with two numbers");
    if (point.x < 0 || point.y < 0) fail_at_line(name, lines.number(), "has a negative number");
    const auto* const known = std::find_if(std::begin(point_functions), std::end(point_functions),
                                           [&](const PointFunction& each) { return each.name == function; });
    if (known == std::end(point_functions))
      fail_at_line(name, lines.number(), "does not name one of the functions " + function_names());
    if (point.x == 0 && !known->from_zero)
      fail_at_line(name, lines.number(), "has an x of 0; batches and transfers must not be empty");
    (points.*known->points).push_back(point);
  }
  return points;
}

std::string measured_points_text(const MeasuredPoints& points) {
  std::string text = "function,x,y\n";
  for (const PointFunction& function : point_functions)
    for (const MeasuredPoint& point : points.*function.points)
      text += fmt::format("{},{},{}\n", function.name, point.x, point.y);
  return text;
}

}  // namespace quern
