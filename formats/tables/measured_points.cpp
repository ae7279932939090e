#include "quern/formats/tables/measured_points.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "quern/core/error.hpp"
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

/// The text up to the next comma; moves `line` after it.
std::string_view next_field(std::string_view& line) {
  const std::size_t comma = std::min(line.find(','), line.size());
  const std::string_view field = trim(line.substr(0, comma));
  line.remove_prefix(std::min(comma + 1, line.size()));
  return field;
}

bool read_number(std::string_view text, double& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && std::isfinite(value);
}

}  // namespace

MeasuredPoints parse_measured_points(std::string_view text, std::string_view name) {
  return with_own_errors([&]() -> MeasuredPoints {
    MeasuredPoints points;
    points.name = name;
    LineReader lines(text);
    for (std::string_view line; lines.next(line);) {
      std::string_view rest = line;
      const std::string_view function = next_field(rest);
      if (function == "function" || function.starts_with('#')) continue;
      MeasuredPoint point;
      if (!read_number(next_field(rest), point.x) || !read_number(next_field(rest), point.y) || !rest.empty())
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
  });
}

std::string measured_points_text(const MeasuredPoints& points) {
  return with_own_errors([&] {
    std::string text = "function,x,y\n";
    for (const PointFunction& function : point_functions)
      for (const MeasuredPoint& point : points.*function.points)
        text += fmt::format("{},{},{}\n", function.name, point.x, point.y);
    return text;
  });
}

}  // namespace quern
