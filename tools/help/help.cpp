#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <set>

#include "command.hpp"
#include "help/render.hpp"

namespace quern::tools {
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
  const HelpExtent extent = arguments.all ? HelpExtent::all_options : HelpExtent::main_options;
  print(arguments.man ? man_page(command, text) : help_text(command, extent, terminal_width()));
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
