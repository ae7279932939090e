#include "quern/core/option_name.hpp"

#include <fmt/format.h>

#include "quern/core/error.hpp"

namespace quern {

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
