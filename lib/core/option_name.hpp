#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

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

}  // namespace quern
