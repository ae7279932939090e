#pragma once

#include "help/command_text.hpp"

/// Texts, scripts and messages that are made from the command line's definitions.
namespace quern::tools {

/// Columns to fold text at: $COLUMNS, else the width of the terminal on standard output, else 80; from 40 to 120.
std::size_t terminal_width();

/// Which options a help text shows.
enum class HelpExtent { main_options, all_options };

/// The text of --help or --help-all, folded at `width` columns.
std::string help_text(const CommandText& command, HelpExtent extent, std::size_t width);
/// Has CLI11 print help_text().
std::shared_ptr<CLI::FormatterBase> make_help_formatter();

/// A page for man(1), in roff: quern(1), or quern-bench-gpu(1). `program` is the whole tree, for references.
std::string man_page(const CommandText& command, const CommandText& program);

/// Scripts that complete commands, options, their values, and files.
std::string bash_completion(const CommandText& program);
std::string zsh_completion(const CommandText& program);

/// The command that the command line names, as deep as it does: `quern bench gpu`.
const CLI::App& named_command(const CLI::App& program);

/// One line that says what is wrong with a command line and how to fix it, replacing CLI11's own message.
std::string usage_message(const CLI::App& program, const CLI::ParseError& error);

/// Exit statuses, in pairs of number and meaning.
inline constexpr std::pair<const char*, const char*> exit_statuses[] = {
    {"0", "Success."},
    {"1", "The command failed; standard error says why."},
    {"2", "Wrong usage: an unknown command or option, or a value that an option does not accept."}};

}  // namespace quern::tools
