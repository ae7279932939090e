#pragma once
#include <charconv>
#include <cstdlib>
#include <initializer_list>
#include <limits>
#include <system_error>
#include <type_traits>

#include "quern/core/bytes.hpp"

/// Numbers in text models.
namespace quern {

/// Reads all of `text` as a number; false if it isn't one of this type. Floating-point numbers round to the nearest,
/// beyond the type's range to infinity, and may be "nan" or "inf".
template <class Number>
bool read_number(std::string_view text, Number& value) {
  const char *begin = text.data(), *end = begin + text.size();
  const auto [stop, error] = std::from_chars(begin, end, value);
  if (stop != end || text.empty()) return false;
  if constexpr (std::is_floating_point_v<Number>) {
    if (error == std::errc::result_out_of_range) {
      const std::string copy(text);  // rare: too large or too small for the type
      value = std::is_same_v<Number, float> ? std::strtof(copy.c_str(), nullptr)
                                            : static_cast<Number>(std::strtod(copy.c_str(), nullptr));
      return true;
    }
  }
  return error == std::errc();
}

/// Whether `head` begins with these tokens, with any white space around them.
inline bool begins_with_tokens(std::string_view head, std::initializer_list<std::string_view> tokens) {
  for (const std::string_view token : tokens) {
    head = trim(head);
    if (!head.starts_with(token)) return false;
    head.remove_prefix(token.size());
  }
  return true;
}

/// The greatest float32 up to `value`: x <= value exactly if x <= it, for each float32 x.
inline float greatest_float_up_to(double value) {
  constexpr float greatest = std::numeric_limits<float>::max(), infinity = std::numeric_limits<float>::infinity();
  if (value == infinity) return infinity;
  if (value >= greatest) return greatest;
  if (value < -greatest) return -infinity;
  const float rounded = static_cast<float>(value);
  return rounded > value ? std::nextafterf(rounded, -infinity) : rounded;
}

/// The greatest float32 below `value`: x < value exactly if x <= it. `value` isn't -infinity.
inline float greatest_float_below(float value) {
  return std::nextafterf(value, -std::numeric_limits<float>::infinity());
}

}  // namespace quern
