#include "help/command_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace quern::tools {
namespace {

/// Notes and examples of each command, for which CLI11 has no place.
struct CommandNotes {
  std::vector<std::string> notes;
  std::vector<Example> examples;
};
std::map<const CLI::App*, CommandNotes>& all_notes() {
  static std::map<const CLI::App*, CommandNotes> notes;
  return notes;
}

/// "NAME:{a,b}", as CLI11 writes types with validators, apart.
void take_type(const std::string& type, OptionText& text) {
  const std::size_t colon = type.find(':');
  text.value = type.substr(0, colon);
  const std::size_t open = type.find(":{"), close = type.rfind('}');
  if (open == type.npos || close == type.npos) return;
  text.choices = CLI::detail::split(type.substr(open + 2, close - open - 2), ',');
}

std::string without_brackets(const std::string& list) {
  return list.starts_with('[') && list.ends_with(']') ? list.substr(1, list.size() - 2) : list;
}

std::vector<std::string> path_of(const CLI::App& command) {
  std::vector<std::string> path;
  for (const CLI::App* at = &command; at != nullptr; at = at->get_parent()) path.push_back(at->get_name());
  std::reverse(path.begin(), path.end());
  return path;
}

void add_with_all_below(const CommandText& command, std::vector<const CommandText*>& all) {
  all.push_back(&command);
  for (const CommandText& below : command.commands) add_with_all_below(below, all);
}

}  // namespace

bool OptionText::is_file() const {
  const std::string& kind_of_value = value.empty() ? names.front() : value;
  for (const char* kind : {"FILE", "FOLDER", "PATH", "INDEX", "COLLECTION", "CORPUS", "POINTS"})
    if (kind_of_value.find(kind) != kind_of_value.npos) return true;
  return false;
}

bool OptionText::has_list() const { return description.find('\n') != description.npos; }

std::string OptionText::full_description() const {
  const std::size_t end = description.find('\n');
  std::string first = description.substr(0, end);
  const bool colon = first.ends_with(':');
  if (colon) first.pop_back();
  if (!has_list() && !choices.empty()) {
    const std::size_t remark = std::min(first.find(" (default: "), first.size());
    first.insert(remark, fmt::format(": {}", fmt::join(choices, ", ")));
  }
  if (!default_value.empty()) first += fmt::format(" (default: {})", default_value);
  if (required && names.front().starts_with('-')) first += " (required)";
  if (colon) first += ':';
  return has_list() ? first + description.substr(end) : first;
}

std::string OptionText::value_text() const {
  if (is_list) return value + ",...";
  return value + (repeats ? "..." : "");
}

std::string CommandText::full_name(const char* separator) const {
  return fmt::format("{}", fmt::join(path, separator));
}

std::string CommandText::usage() const {
  std::string text = full_name();
  if (!commands.empty()) return text + " [OPTIONS] COMMAND";
  text += " [OPTIONS]";
  for (const OptionText& argument : arguments) {
    const std::string name = argument.names.front() + (argument.repeats ? "..." : "");
    text += argument.required ? " " + name : " [" + name + "]";
  }
  return text;
}

void set_notes(CLI::App& command, const std::vector<std::string>& notes, const std::vector<Example>& examples) {
  all_notes()[&command] = {notes, examples};
}

OptionText describe(const CLI::Option& option) {
  OptionText text;
  if (option.get_positional()) {
    text.names = {option.get_name(true)};
  } else {
    for (const std::string& name : option.get_snames()) text.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) text.names.push_back("--" + name);
  }
  if (option.get_type_size() != 0) take_type(option.get_type_name(), text);
  text.default_value = without_brackets(option.get_default_str());
  text.description = option.get_description();
  text.required = option.get_required();
  text.is_list = option.get_delimiter() != '\0';
  text.repeats = option.get_positional() && option.get_expected_max() > 1;
  return text;
}

CommandText describe(const CLI::App& command) {
  CommandText text;
  text.path = path_of(command);
  text.summary = command.get_description();
  for (const CLI::Option* option : command.get_options())
    (option->get_positional() ? text.arguments : text.options).push_back(describe(*option));
  put_under_headings(text);
  for (const CLI::App* below : command.get_subcommands({})) text.commands.push_back(describe(*below));
  const CommandNotes& notes = all_notes()[&command];
  text.notes = notes.notes;
  text.examples = notes.examples;
  return text;
}

std::vector<const CommandText*> with_all_below(const CommandText& command) {
  std::vector<const CommandText*> all;
  add_with_all_below(command, all);
  return all;
}

}  // namespace quern::tools
