#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <set>
#include <sstream>

#include "command.hpp"
#include "help/help.hpp"

namespace quern::tools {
namespace {

constexpr std::size_t names_column = 2, description_column = 26;

/// Appends words, folded at `width`. The first is at column `at` of its line; further lines begin with `margin`. A line
/// that goes on ends with `mark`.
void fold(std::string& out, const std::vector<std::string>& words, std::size_t at, const std::string& margin,
          std::size_t width, const std::string& mark = "") {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::size_t room = words[i].size() + (i + 1 < words.size() ? mark.size() : 0);
    if (i > 0 && at + 1 + room > width) {
      out += mark + "\n" + margin;
      at = margin.size();
    } else if (i > 0) {
      out += ' ';
      ++at;
    }
    out += words[i];
    at += words[i].size();
  }
  out += '\n';
}

/// The words of a text; further lines begin with `margin` and at column `indent`.
void fold(std::string& out, const std::string& text, std::size_t at, std::size_t indent, std::size_t width,
          std::string_view margin = {}) {
  std::istringstream in(text);
  const std::vector<std::string> words(std::istream_iterator<std::string>(in), {});
  fold(out, words, at, fmt::format("{:<{}}", margin, indent), width);
}

/// Words of a shell's line: a quoted string is one word.
std::vector<std::string> shell_words(const std::string& line) {
  std::vector<std::string> words(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') quoted = !quoted;
    if (c == ' ' && !quoted)
      words.emplace_back();
    else
      words.back() += c;
  }
  return words;
}

/// A command line that can be pasted: folded with a backslash, and an option stays with its value.
void fold_command(std::string& out, const std::string& line, std::size_t width) {
  std::vector<std::string> pieces;
  for (const std::string& word : shell_words(line)) {
    const bool is_value = !pieces.empty() && pieces.back().starts_with('-') && pieces.back().find(' ') == line.npos &&
                          !word.starts_with('-') && pieces.back().size() > 1;
    if (is_value)
      pieces.back() += " " + word;
    else
      pieces.push_back(word);
  }
  out += "  ";
  fold(out, pieces, 2, std::string(6, ' '), width, " \\");
}

/// "-o, --output FILE", or "INDEX".
std::string shown_names(const OptionText& option) {
  std::string text = fmt::format("{}", fmt::join(option.names, ", "));
  if (!option.names.front().starts_with('-')) return text + (option.repeats ? "..." : "");
  if (!option.names.front().starts_with("--")) return text + (option.value.empty() ? "" : " " + option.value_text());
  return "    " + text + (option.value.empty() ? "" : " " + option.value_text());
}

void append_entry(std::string& out, const std::string& names, const std::string& description, std::size_t width) {
  std::istringstream lines(description);
  std::string line;
  std::getline(lines, line);
  out += std::string(names_column, ' ') + names;
  const std::size_t end = names_column + names.size();
  if (end + 2 <= description_column)
    out += std::string(description_column - end, ' ');
  else
    out += "\n" + std::string(description_column, ' ');
  fold(out, line, description_column, description_column, width);
  while (std::getline(lines, line)) {
    out += std::string(description_column + 2, ' ');
    fold(out, line, description_column + 2, description_column + 6, width);
  }
}

void append_options(std::string& out, const CommandText& command, bool all_options, std::size_t width) {
  const std::vector<OptionText> shown = all_options ? command.options : main_options(command);
  std::string heading;
  for (const OptionText& option : shown) {
    if (option.heading != heading) out += "\n" + option.heading + ":\n";
    heading = option.heading;
    append_entry(out, shown_names(option), option.full_description(), width);
  }
  if (shown.size() == command.options.size()) return;
  out += "\n";
  fold(out, fmt::format("{} more options: {} --help-all", command.options.size() - shown.size(), command.full_name()),
       0, 0, width);
}

/// Columns to fold text at: $COLUMNS, else the width of the terminal on standard output, else 80; from 40 to 120.
std::size_t terminal_width() {
  constexpr std::size_t narrowest = 40, widest = 120, unknown = 80;
  std::size_t columns = 0;
  if (const char* set = std::getenv("COLUMNS")) columns = std::strtoul(set, nullptr, 10);
  winsize size{};
  if (columns == 0 && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) columns = size.ws_col;
  return columns == 0 ? unknown : std::clamp(columns, narrowest, widest);
}

/// The text of --help or --help-all.
std::string help_text(const CommandText& command, bool all_options) {
  const std::size_t width = terminal_width();
  std::string out;
  fold(out, command.summary, 0, 0, width);
  out += "\n";
  fold(out, "Usage: " + command.usage(), 0, 4, width);
  if (!command.commands.empty()) out += "\nCommands:\n";
  for (const CommandText& below : command.commands) append_entry(out, below.name(), below.summary, width);
  if (!command.arguments.empty()) out += "\nArguments:\n";
  for (const OptionText& argument : command.arguments)
    append_entry(out, shown_names(argument), argument.full_description(), width);
  append_options(out, command, all_options, width);
  for (const std::string& note : command.notes) {
    out += "\n";
    fold(out, note, 0, 0, width);
  }
  if (!command.examples.empty()) out += "\nExamples:\n";
  for (const Example& example : command.examples) {
    if (!example.remark.empty()) {
      out += "  # ";
      fold(out, example.remark, 4, 4, width, "  #");
    }
    fold_command(out, example.line, width);
  }
  return out;
}

class FoldingFormatter : public CLI::FormatterBase {
 public:
  std::string make_help(const CLI::App* command, std::string, CLI::AppFormatMode mode) const override {
    return help_text(describe(*command), mode == CLI::AppFormatMode::All);
  }
};

}  // namespace

std::shared_ptr<CLI::FormatterBase> make_help_formatter() { return std::make_shared<FoldingFormatter>(); }

namespace {

struct HelpArguments {
  std::vector<std::string> words;
  bool man = false, commands = false, all = false;
};

/// The command that words such as "bench gpu" name.
const CommandText& command_at(const CommandText& program, const std::vector<std::string>& words) {
  const CommandText* at = &program;
  for (const std::string& word : words) {
    const CommandText* next = nullptr;
    for (const CommandText& below : at->commands)
      if (below.name() == word) next = &below;
    if (next == nullptr) throw usage_error("{} has no command '{}'", at->full_name(), word);
    at = next;
  }
  return *at;
}

void run_help(const CLI::App& program, const HelpArguments& arguments) {
  const CommandText text = describe(program);
  if (arguments.commands) {
    for (const CommandText* command : with_all_below(text)) print(command->full_name() + "\n");
    return;
  }
  const CommandText& command = command_at(text, arguments.words);
  print(arguments.man ? man_page(command, text) : help_text(command, arguments.all));
}

}  // namespace

void add_help_command(CLI::App& program) {
  auto arguments = std::make_shared<HelpArguments>();
  CLI::App* command = program.add_subcommand("help", "Show the help of a command, or its manual page");
  std::set<std::string> names;
  for (const CLI::App* each : program.get_subcommands({})) {
    names.insert(each->get_name());
    for (const CLI::App* below : each->get_subcommands({})) names.insert(below->get_name());
  }
  add_option(*command, "COMMAND", arguments->words, fmt::format("COMMAND:{{{}}}", fmt::join(names, ",")),
             "The command, in one or two words (default: quern itself)");
  CLI::Option* man = command->add_flag("--man", arguments->man, "Print the manual page, in roff");
  command->add_flag("--all", arguments->all, "Print all options")->excludes(man);
  command->add_flag("--commands", arguments->commands, "Print the names of all commands")->excludes(man);
  set_notes(*command, {}, {{"quern help index"}, {"quern help bench gpu"}, {"quern help --man query | man -l -"}});
  command->callback([&program, arguments] { run_help(program, *arguments); });
}

void add_completion_command(CLI::App& program) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command =
      program.add_subcommand("completion", "Print a script that completes quern's command line in a shell");
  add_option(*command, "SHELL", *shell, "SHELL", "The shell")->required()->check(name_validator({"bash", "zsh"}));
  set_notes(*command, {"An installed Quern includes both scripts; this is for an executable that is not installed."},
            {{"source <(quern completion bash)"}, {"quern completion zsh > ~/.zfunc/_quern"}});
  command->callback([&program, shell] {
    const CommandText text = describe(program);
    print(*shell == "zsh" ? zsh_completion(text) : bash_completion(text));
  });
}

}  // namespace quern::tools
