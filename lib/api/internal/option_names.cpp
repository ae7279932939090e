#include "quern/api/internal/option_names.hpp"

#include <algorithm>
#include <utility>

#include "quern/core/option_name.hpp"

namespace quern::api {
namespace {

std::string program_name(std::string_view command, std::string_view name) {
  std::string out(name);
  std::replace(out.begin(), out.end(), '-', '_');
  return command.empty() ? out : std::string(command) + " with " + out;
}

}  // namespace

std::string with_program_names(std::string_view message) { return spell_options(message, program_name); }

std::function<void(const std::string&)> with_program_names(std::function<void(const std::string&)> tell) {
  if (!tell) return [](const std::string&) {};
  return [tell = std::move(tell)](const std::string& message) { tell(with_program_names(message)); };
}

std::string first_option(std::string_view message) {
  const auto option = find_option(message);
  return option ? program_name({}, option->name) : std::string();
}

}  // namespace quern::api
