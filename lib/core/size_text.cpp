#include "quern/core/size_text.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "quern/core/error.hpp"

namespace quern {
namespace {

constexpr std::string_view units = "KMGT";

[[noreturn]] void refuse(std::string_view text) {
  throw InvalidArgument("'{}' is not a size; write a number such as 64M or 1.5G", text);
}

}  // namespace

std::uint64_t parse_size(std::string_view text) {
  double number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (code != std::errc{} || !(number >= 0)) refuse(text);
  std::string_view rest = text.substr(static_cast<std::size_t>(end - text.data()));
  if (!rest.empty()) {
    const std::size_t power = units.find(static_cast<char>(rest[0] & ~0x20));
    if (power != units.npos) {
      number *= std::pow(1024.0, static_cast<double>(power + 1));
      rest.remove_prefix(1);
      if (!rest.empty() && rest[0] == 'i') rest.remove_prefix(1);
    }
    if (rest == "B" || rest == "b") rest = {};
  }
  if (!rest.empty() || number > 9e18) refuse(text);
  return static_cast<std::uint64_t>(number);
}

std::string size_text(std::uint64_t bytes) {
  int power = -1;
  double scaled = static_cast<double>(bytes);
  while (scaled >= 1024 && power < 3) {
    scaled /= 1024;
    ++power;
  }
  if (power < 0) return std::to_string(bytes);
  const char unit = units[static_cast<std::size_t>(power)];
  return scaled == std::floor(scaled) ? fmt::format("{:.0f}{}", scaled, unit) : fmt::format("{:.1f}{}", scaled, unit);
}

std::string count_text(std::uint64_t count, const std::string& noun, const std::string& plural) {
  if (count == 1) return "1 " + noun;
  return fmt::format("{} {}", count, plural.empty() ? noun + "s" : plural);
}

}  // namespace quern
