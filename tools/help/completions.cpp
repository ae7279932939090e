#include <fmt/format.h>
#include <fmt/ranges.h>

#include "help/help.hpp"

namespace quern::tools {
namespace {

/// Finds the command that is being written, then what may come next. Lists of values complete their last one.
constexpr const char* script = R"bash(
_quern_files() {
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen -f -- "$1")
}

_quern() {
  local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}"
  if [[ $current == = ]]; then
    current=""
  elif [[ $previous == = ]]; then
    previous="${COMP_WORDS[COMP_CWORD-2]}"
  fi
  local command="" word below i
  for ((i = 1; i < COMP_CWORD; ++i)); do
    word="${COMP_WORDS[i]}"
    below=" $(_quern_commands "$command") "
    [[ -n $word && $below == *" $word "* ]] || break
    command="${command:+$command }$word"
  done
  COMPREPLY=()
  local values
  if values="$(_quern_values "$command $previous")"; then
    case "$values" in
      @file) _quern_files "$current" ;;
      "") ;;
      *)
        local before=""
        [[ $current == *,* ]] && before="${current%,*},"
        mapfile -t COMPREPLY < <(compgen -P "$before" -W "$values" -- "${current##*,}")
        ;;
    esac
  elif [[ $current == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(_quern_options "$command")" -- "$current")
  elif values="$(_quern_values "$command @argument")"; then
    if [[ $values == @file ]]; then
      _quern_files "$current"
    else
      mapfile -t COMPREPLY < <(compgen -W "$values" -- "$current")
    fi
  else
    mapfile -t COMPREPLY < <(compgen -W "$(_quern_commands "$command")" -- "$current")
  fi
}

complete -F _quern quern
)bash";

/// "bench gpu": the path without the program.
std::string below_program(const CommandText& command) {
  const std::vector<std::string> words(command.path.begin() + 1, command.path.end());
  return fmt::format("{}", fmt::join(words, " "));
}

/// A function that prints what belongs to its first argument, and fails if nothing does.
class Table {
 public:
  explicit Table(const std::string& name) : text_("\n" + name + "() {\n  case \"$1\" in\n") {}
  void add(const std::vector<std::string>& keys, const std::string& words) {
    std::string patterns;
    for (const std::string& key : keys) patterns += (patterns.empty() ? "\"" : " | \"") + key + "\"";
    text_ += fmt::format("    {}) echo \"{}\" ;;\n", patterns, words);
  }
  std::string end() const { return text_ + "    *) return 1 ;;\n  esac\n}\n"; }

 private:
  std::string text_;
};

std::string values_of(const OptionText& option) {
  if (option.is_file && option.choices.empty()) return "@file";
  return fmt::format("{}", fmt::join(option.choices, " "));
}

void add_values(Table& values, const CommandText& command) {
  const std::string path = below_program(command);
  for (const OptionText& option : command.options) {
    if (option.value.empty()) continue;
    std::vector<std::string> keys;
    for (const std::string& name : option.names) keys.push_back(path + " " + name);
    values.add(keys, values_of(option));
  }
  // Bash doesn't count arguments here: the first kind that can be completed serves for all.
  for (const OptionText& argument : command.arguments)
    if (!values_of(argument).empty()) return values.add({path + " @argument"}, values_of(argument));
}

}  // namespace

std::string bash_completion(const CommandText& program) {
  Table commands("_quern_commands"), options("_quern_options"), values("_quern_values");
  for (const CommandText* command : with_all_below(program)) {
    std::vector<std::string> below, names;
    for (const CommandText& each : command->commands) below.push_back(each.name());
    for (const OptionText& option : command->options)
      names.insert(names.end(), option.names.begin(), option.names.end());
    if (!below.empty()) commands.add({below_program(*command)}, fmt::format("{}", fmt::join(below, " ")));
    options.add({below_program(*command)}, fmt::format("{}", fmt::join(names, " ")));
    add_values(values, *command);
  }
  return "# Completion of quern's command line for bash, written by: quern completion bash\n" + commands.end() +
         options.end() + values.end() + script;
}

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
  return fmt::format(":{}:{}", message, option.is_file ? "_files" : " ");
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
