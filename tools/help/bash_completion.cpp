#include <fmt/format.h>
#include <fmt/ranges.h>

#include "help/render.hpp"

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
  if (option.is_file() && option.choices.empty()) return "@file";
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

}  // namespace quern::tools
