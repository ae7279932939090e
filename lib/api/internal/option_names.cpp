#include "quern/api/internal/option_names.hpp"

#include <algorithm>
#include <regex>

namespace quern::api {
namespace {

std::string program_name(std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

/// Dashes before a name, not within a word.
const std::regex& option_pattern() {
  static const std::regex pattern("(^|[^A-Za-z0-9_-])--([a-z][a-z0-9-]*)");
  return pattern;
}

}  // namespace

std::string with_program_names(std::string_view text) {
  static const std::regex command("quern (index|parse|order|build|query|plan) --");
  const std::string without_commands = std::regex_replace(std::string(text), command, "$1 with --");
  std::string out;
  auto rest = without_commands.cbegin();
  for (std::smatch found; std::regex_search(rest, without_commands.cend(), found, option_pattern());
       rest = found.suffix().first)
    out += found.prefix().str() + found[1].str() + program_name(found[2].str());
  return out.append(rest, without_commands.cend());
}

std::string first_option(std::string_view text) {
  const std::string whole(text);
  std::smatch found;
  return std::regex_search(whole, found, option_pattern()) ? program_name(found[2].str()) : std::string();
}

}  // namespace quern::api
