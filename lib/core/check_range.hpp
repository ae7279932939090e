#pragma once
#include <fmt/format.h>

#include <string_view>
#include <type_traits>

#include "quern/core/error.hpp"

namespace quern {

/// Throws InvalidArgument, with the option's name, unless `value` is a number from `min` to `max`. NaN never is.
template <class Number>
void check_range(std::string_view option, Number value, std::type_identity_t<Number> min,
                 std::type_identity_t<Number> max) {
  // Comparisons with NaN are false.
  if (!(value >= min && value <= max))
    throw InvalidArgument(fmt::format("{} must be from {} to {}, not {}", option, min, max, value));
}

}  // namespace quern
