#include <fmt/format.h>
#include <fmt/ranges.h>

#include "help/render.hpp"

namespace quern::tools {
namespace {

/// Text inside '...', with a backslash before each of `special`.
std::string quoted(const std::string& text, const std::string& special) {
  std::string out;
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
      continue;
    }
    if (c == '\\' || special.find(c) != special.npos) out += '\\';
    out += c;
  }
  return out;
}

/// The first line of a description, without the colon before a list.
std::string first_line(const OptionText& option) {
  std::string line = option.description.substr(0, option.description.find('\n'));
  if (line.ends_with(':')) line.pop_back();
  return quoted(line, "[]:");
}

/// How zsh completes a value: a message and an action.
std::string action_of(const OptionText& option) {
  const std::string message = quoted(option.value.empty() ? option.names.front() : option.value, ":");
  if (!option.choices.empty()) {
    const std::string words = fmt::format("{}", fmt::join(option.choices, " "));
    return option.is_list ? fmt::format(":{}:_values -s , {} {}", message, message, words)
                          : fmt::format(":{}:({})", message, words);
  }
  return fmt::format(":{}:{}", message, option.is_file() ? "_files" : " ");
}

/// '(-o --output)'{-o,--output}'[The index to write]:FILE:_files'
std::string option_spec(const OptionText& option) {
  const std::string text = fmt::format("[{}]{}", first_line(option), option.value.empty() ? "" : action_of(option));
  if (option.names.size() == 1) return fmt::format("'{}{}'", option.names.front(), text);
  return fmt::format("'({})'{{{}}}'{}'", fmt::join(option.names, " "), fmt::join(option.names, ","), text);
}

std::string function_name(const CommandText& command) { return "_" + command.full_name("_"); }

void append_specs(std::string& out, const CommandText& command) {
  for (const OptionText& option : command.options) out += " \\\n    " + option_spec(option);
  for (std::size_t i = 0; i < command.arguments.size(); ++i) {
    const OptionText& argument = command.arguments[i];
    out += fmt::format(" \\\n    '{}{}'", argument.repeats ? "*" : std::to_string(i + 1), action_of(argument));
  }
}

/// A command with others below it: its own options, then their names, then what each of them completes.
void append_group(std::string& out, const CommandText& command) {
  out += fmt::format("\n{}() {{\n  local context state state_descr line\n  typeset -A opt_args\n  _arguments -C",
                     function_name(command));
  append_specs(out, command);
  out += " \\\n    '1: :->command' \\\n    '*:: :->rest'\n  case $state in\n  command)\n    local -a commands=(\n";
  for (const CommandText& below : command.commands)
    out += fmt::format("      '{}:{}'\n", below.name(), quoted(below.summary, ":"));
  out += "    )\n    _describe command commands\n    ;;\n  rest)\n    case $words[1] in\n";
  for (const CommandText& below : command.commands)
    out += fmt::format("    {}) {} ;;\n", below.name(), function_name(below));
  out += "    esac\n    ;;\n  esac\n}\n";
}

}  // namespace

std::string zsh_completion(const CommandText& program) {
  std::string out = "#compdef quern\n# Completion of quern's command line for zsh, written by: quern completion zsh\n";
  for (const CommandText* command : with_all_below(program)) {
    if (!command->commands.empty()) {
      append_group(out, *command);
      continue;
    }
    out += fmt::format("\n{}() {{\n  _arguments -s -S", function_name(*command));
    append_specs(out, *command);
    out += "\n}\n";
  }
  return out + "\nif [ \"$funcstack[1]\" = _quern ]; then\n  _quern \"$@\"\nelse\n  compdef _quern quern\nfi\n";
}

}  // namespace quern::tools
