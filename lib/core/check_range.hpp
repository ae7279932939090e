#pragma once
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace quern {

/// Called by check_range(); throws InvalidArgument.
[[noreturn]] void throw_out_of_range(std::string_view option, double min, double max, double value);
[[noreturn]] void throw_out_of_range(std::string_view option, std::uint64_t min, std::uint64_t max,
                                     std::uint64_t value);

/// Throws InvalidArgument, with the option's name, unless min <= `value` <= max. NaN is always out of range.
template <class Number>
void check_range(std::string_view option, Number value, std::type_identity_t<Number> min,
                 std::type_identity_t<Number> max) {
  static_assert(std::is_floating_point_v<Number> || std::is_unsigned_v<Number>);
  using Wide = std::conditional_t<std::is_floating_point_v<Number>, double, std::uint64_t>;
  // Comparisons with NaN are false.
  if (!(value >= min && value <= max))
    throw_out_of_range(option, static_cast<Wide>(min), static_cast<Wide>(max), static_cast<Wide>(value));
}

}  // namespace quern
