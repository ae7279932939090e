#include "quern/formats/tables/measured_points.hpp"

#include <charconv>
#include <cmath>

#include "quern/core/error.hpp"
#include "quern/core/own_errors.hpp"
#include "quern/formats/tables/text_lines.hpp"

namespace quern {
namespace {

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
      if (function == "dq") {
        points.transfer_bytes.push_back(point);
        continue;
      }
      if (point.x == 0) fail_at_line(name, lines.number(), "has an x of 0, where a batch or a transfer has some size");
      if (function == "c") {
        points.query_us.push_back(point);
      } else if (function == "t") {
        points.transfer_us_per_byte.push_back(point);
      } else {
        fail_at_line(name, lines.number(), "is of none of the functions c, t and dq");
      }
    }
    return points;
  });
}

}  // namespace quern
