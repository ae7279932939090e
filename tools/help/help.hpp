#pragma once
#include <CLI/CLI.hpp>

#include "quern/core/types.hpp"

/// Commands and options as text, from CLI11's definitions: the only source of --help, man pages and completions.
namespace quern::tools {

/// How an option's value names a file or folder.
struct FileNaming {
  bool is_written = false;                ///< else it is read
  std::vector<const char*> endings = {};  ///< the value may also be the beginning of names with these endings
  bool takes_words = false;               ///< only a value that begins with @ names a file, whose name follows
  bool fills_folder = false;              ///< the value is a folder, in which files of any name are written
};
/// Declares that an option opens the file or folder that its value names. Every option that opens one must be declared.
/// Returns it.
CLI::Option* name_file(CLI::Option* option, FileNaming naming);
/// The declaration of an option; null if its value isn't the name of a file.
const FileNaming* file_naming(const CLI::Option& option);

/// An option or a positional argument.
struct OptionText {
  std::vector<std::string> names;    ///< "-o" and "--output", or the name of an argument: "INDEX"
  std::string value;                 ///< what follows the name, such as "FILE"; empty for flags
  std::string default_value;         ///< empty: none, or in the description
  std::vector<std::string> choices;  ///< the values it takes, if they are known
  std::string description;           ///< lines after the first are "  VALUE: what it means"
  std::string heading;               ///< under which help texts show it
  std::size_t level = 0;             ///< how rarely it is needed, from 0
  bool required = false;
  bool is_list = false;   ///< one word of values with commas between
  bool repeats = false;   ///< an argument that takes all words that follow
  bool is_file = false;   ///< the value is the name of a file or folder
  bool has_list() const;  ///< whether the description lists the values, a line each
  /// The description with the choices that it doesn't list, the default, and whether it is required.
  std::string full_description() const;
  /// "NAME", "NAME,...", or "CORPUS...".
  std::string value_text() const;
};

/// A command line that is shown, with a remark.
struct Example {
  std::string line;
  std::string remark = {};
};

/// A command, or the program, with the commands below it.
struct CommandText {
  std::vector<std::string> path;  ///< "quern", "bench", "gpu"
  std::string summary;
  std::vector<std::string> notes;  ///< paragraphs
  std::vector<OptionText> arguments, options;
  std::vector<Example> examples;
  std::vector<CommandText> commands;

  std::string name() const { return path.back(); }
  std::string full_name(const char* separator = " ") const;
  /// "quern query [OPTIONS] INDEX"
  std::string usage() const;
};

/// The options that --help shows, at most 20: all options of a command, or those of the lowest levels.
std::vector<OptionText> main_options(const CommandText& command);

/// Notes, in paragraphs, and examples of a command, to be shown after its options.
void set_notes(CLI::App& command, const std::vector<std::string>& notes, const std::vector<Example>& examples);

CommandText describe(const CLI::App& command);
OptionText describe(const CLI::Option& option);
/// The command itself and all below it.
std::vector<const CommandText*> with_all_below(const CommandText& command);

/// Has CLI11 print help texts.
std::shared_ptr<CLI::FormatterBase> make_help_formatter();

/// A page for man(1), in roff: quern(1), or quern-bench-gpu(1). `program` is the whole tree, for references.
std::string man_page(const CommandText& command, const CommandText& program);

/// Scripts that complete commands, options, their values, and files.
std::string bash_completion(const CommandText& program);
std::string zsh_completion(const CommandText& program);

/// The command that the command line names, as deep as it does: `quern bench gpu`.
const CLI::App& named_command(const CLI::App& program);

/// Has options that take lists of values take one word, with commas between the values; else a list would also take the
/// words that follow, or an argument the second value.
void take_lists_as_words(CLI::App& program);
/// Throws a usage error if a word after the value of such an option, which could be another, is read as the name of a
/// file that doesn't exist.
void refuse_split_lists(const CLI::App& command);

/// CLI11's message about an option or its value, in the words of this program.
std::string option_message(const CLI::ParseError& error);

/// One line that says what is wrong with a command line and how to fix it, replacing CLI11's own message.
std::string usage_message(const CLI::App& program, const CLI::ParseError& error);

/// Exit statuses, in pairs of number and meaning.
inline constexpr std::pair<const char*, const char*> exit_statuses[] = {
    {"0", "Success."},
    {"1", "The command failed; standard error says why."},
    {"2", "Wrong usage: an unknown command or option, or a value that an option does not accept."}};

}  // namespace quern::tools
