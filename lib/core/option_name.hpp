#pragma once
#include <type_traits>

#include "quern/core/types.hpp"

namespace quern {

/// What stands for an option in a text: its name between two control characters, which no other text holds in this way.
template <std::size_t size>
struct OptionPlaceholder {
  static constexpr char begin = '\x02', end = '\x03';

  consteval OptionPlaceholder(const char (&name)[size]) {  // NOLINT(google-explicit-constructor): a template argument
    text[0] = begin;
    for (std::size_t i = 0; i + 1 < size; ++i) {
      const bool fits =
          (name[i] >= 'a' && name[i] <= 'z') || (name[i] >= '0' && name[i] <= '9') || name[i] == '-' || name[i] == ' ';
      if (!fits) throw "a name has lower case letters, digits and hyphens";
      text[i + 1] = name[i];
    }
    text[size] = end;
  }

  char text[size + 2] = {};
};

/// An option as messages name it, for example fmt::format("raise {}", option_name<"memory">). The command that takes it
/// stands before it if it is not the one that runs: option_name<"index forward">. The text has a placeholder, for which
/// each front end puts its own spelling, by spell_options(): `--memory` or `memory`.
template <OptionPlaceholder placeholder>
inline constexpr const char* option_name = placeholder.text;

/// An option that a message names.
struct NamedOption {
  std::size_t begin, end;    ///< of its placeholder in the message
  std::string_view command;  ///< empty: the command that runs
  std::string_view name;
};

/// The first option that a message names, if any. Its views are into the message.
std::optional<NamedOption> find_option(std::string_view message);

/// How a front end spells an option.
using OptionSpelling = std::string(std::string_view command, std::string_view name);

/// The message with all its options spelled.
std::string spell_options(std::string_view message, OptionSpelling* spell);

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
