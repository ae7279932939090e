#include "quern/core/check_range.hpp"

#include <fmt/format.h>

#include "quern/core/error.hpp"

namespace quern {
namespace {

template <class Number>
std::string out_of_range_text(std::string_view option, Number min, Number max, Number value) {
  return fmt::format("{} must be from {} to {}, not {}", option, min, max, value);
}

}  // namespace

void throw_out_of_range(std::string_view option, double min, double max, double value) {
  throw InvalidArgument(out_of_range_text(option, min, max, value));
}

void throw_out_of_range(std::string_view option, std::uint64_t min, std::uint64_t max, std::uint64_t value) {
  throw InvalidArgument(out_of_range_text(option, min, max, value));
}

}  // namespace quern
