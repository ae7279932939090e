#include "quern/core/error.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <new>
#include <system_error>

namespace quern {
namespace {

/// Made in advance, since there may be no memory for its text later. Copies share the text.
const OutOfMemory out_of_memory("out of memory");

template <class Number>
std::string out_of_range_text(std::string_view option, Number min, Number max, Number value) {
  return fmt::format("{} must be from {} to {}, not {}", option, min, max, value);
}

constexpr std::string_view size_units = "KMGT";

[[noreturn]] void refuse_size(std::string_view text) {
  throw InvalidArgument("'{}' is not a size; write a number such as 64M or 1.5G", text);
}

}  // namespace

void throw_translated_error() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    throw out_of_memory;
  } catch (const std::length_error&) {  // a vector or string too large for its type
    throw out_of_memory;
  } catch (const std::system_error& error) {
    throw IoError(error.what());
  } catch (const std::runtime_error&) {
    throw;
  } catch (const std::exception& error) {
    throw Error(std::string("unexpected error: ") + error.what());
  }
}

std::optional<NamedOption> find_option(std::string_view message) {
  using Placeholder = OptionPlaceholder<1>;
  const std::size_t begin = message.find(Placeholder::begin);
  if (begin == message.npos) return std::nullopt;
  const std::size_t end = message.find(Placeholder::end, begin);
  if (end == message.npos) return std::nullopt;
  const std::string_view words = message.substr(begin + 1, end - begin - 1);
  const std::size_t space = words.rfind(' ');
  if (space == words.npos) return NamedOption{begin, end + 1, {}, words};
  return NamedOption{begin, end + 1, words.substr(0, space), words.substr(space + 1)};
}

std::string spell_options(std::string_view message, OptionSpelling* spell) {
  std::string out;
  while (const auto option = find_option(message)) {
    out.append(message.substr(0, option->begin)).append(spell(option->command, option->name));
    message.remove_prefix(option->end);
  }
  return out.append(message);
}

void throw_out_of_range(std::string_view option, double min, double max, double value) {
  throw InvalidArgument(out_of_range_text(option, min, max, value));
}

void throw_out_of_range(std::string_view option, std::uint64_t min, std::uint64_t max, std::uint64_t value) {
  throw InvalidArgument(out_of_range_text(option, min, max, value));
}

std::uint64_t parse_size(std::string_view text) {
  double number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (code != std::errc{} || !(number >= 0)) refuse_size(text);
  std::string_view rest = text.substr(static_cast<std::size_t>(end - text.data()));
  if (!rest.empty()) {
    const std::size_t power = size_units.find(static_cast<char>(rest[0] & ~0x20));
    if (power != size_units.npos) {
      number *= std::pow(1024.0, static_cast<double>(power + 1));
      rest.remove_prefix(1);
      if (!rest.empty() && rest[0] == 'i') rest.remove_prefix(1);
    }
    if (rest == "B" || rest == "b") rest = {};
  }
  if (!rest.empty() || number > 9e18) refuse_size(text);
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
  const char unit = size_units[static_cast<std::size_t>(power)];
  return scaled == std::floor(scaled) ? fmt::format("{:.0f}{}", scaled, unit) : fmt::format("{:.1f}{}", scaled, unit);
}

std::string count_text(std::uint64_t count, const std::string& noun, const std::string& plural) {
  if (count == 1) return "1 " + noun;
  return fmt::format("{} {}", count, plural.empty() ? noun + "s" : plural);
}

}  // namespace quern
