#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "quern/core/named.hpp"

#include "help/help.hpp"

namespace quern::tools {
namespace {

/// Options that a command lacks for a reason.
struct Reason {
  const char *command, *option, *text;
};
constexpr const char* analyzer_of_index = "queries use the index's analyzer";
constexpr const char* terms_of_parse = "the collection's terms are those of quern parse";
constexpr Reason reasons[] = {{"query", "--language", analyzer_of_index},
                              {"query", "--stemmer", analyzer_of_index},
                              {"query", "--stopwords", analyzer_of_index},
                              {"intersect", "--stemmer", analyzer_of_index},
                              {"intersect", "--stopwords", analyzer_of_index},
                              {"intersect", "--language", analyzer_of_index},
                              {"build", "--language", terms_of_parse},
                              {"build", "--stemmer", terms_of_parse},
                              {"build", "--stopwords", terms_of_parse},
                              {"tune", "--run", "quern query writes a run, with the options that quern tune prints"}};

/// What users of other programs may call a command or an option.
constexpr std::pair<const char*, const char*> other_names[] = {
    {"search", "query"}, {"retrieve", "query"}, {"evaluate", "eval"}, {"show", "inspect"}, {"info", "inspect"},
    {"check", "verify"}, {"--topk", "-k"},      {"--top-k", "-k"},    {"--hits", "-k"}};

/// "; did you mean NAME?", or nothing if no name is similar or that of `wrong` elsewhere.
std::string nearest_or_other_name(const std::vector<std::string>& names, const std::string& wrong) {
  for (const auto& [other, name] : other_names)
    if (wrong == other && std::find(names.begin(), names.end(), name) != names.end())
      return fmt::format("; did you mean {}?", name);
  return nearest_name(names, wrong);
}

std::vector<std::string> option_names(const CommandText& command) {
  std::vector<std::string> names;
  for (const OptionText& option : command.options) names.insert(names.end(), option.names.begin(), option.names.end());
  return names;
}

bool has_option(const CommandText& command, const std::string& name) {
  const std::vector<std::string> names = option_names(command);
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string unknown_option(const CommandText& program, const CommandText& command, const std::string& word) {
  const std::string option = word.substr(0, word.find('='));
  std::string text = "unknown option " + option;
  for (const Reason& reason : reasons)
    if (command.name() == reason.command && option == reason.option) return text + "; " + reason.text;
  const std::string nearest = nearest_or_other_name(option_names(command), option);
  if (!nearest.empty()) return text + nearest;
  std::vector<std::string> others;
  for (const CommandText* other : with_all_below(program))
    if (has_option(*other, option)) others.push_back(other->full_name());
  if (!others.empty()) text += fmt::format("; it is an option of {}", fmt::join(others, ", "));
  return text;
}

bool is_list(const CLI::Option& option) { return option.get_delimiter() != '\0'; }

/// How to write a list of values that was written as several words.
std::string list_remedy(const CLI::Option& list, const std::string& word) {
  const std::string name = list.get_name();
  return fmt::format("; separate the values of {0} by commas: {0} {1},{2}", name, list.results().back(), word);
}

/// Whether a list may have a word as a value; `unchecked`: the answer if it takes any.
bool may_have(CLI::Option& list, std::string word, bool unchecked) {
  try {
    return (*list.get_validator())(word).empty();
  } catch (const CLI::OptionNotFound&) {
    return unchecked;
  }
}

/// The remedy for a word that may be another value of a list.
std::string remedy_of_any_list(const CLI::App& command, const std::string& word) {
  for (CLI::Option* const option : command.parse_order())
    if (is_list(*option) && may_have(*option, word, false)) return list_remedy(*option, word);
  return {};
}

/// A word that no option or argument takes.
std::string unexpected(const CommandText& program, const CLI::App& parsed, const std::string& word) {
  const CommandText command = describe(parsed);
  if (word.starts_with('-') && word.size() > 1) return unknown_option(program, command, word);
  if (!command.commands.empty()) {
    std::vector<std::string> names;
    for (const CommandText& below : command.commands) names.push_back(below.name());
    return fmt::format("unknown command '{}'{}", word, nearest_or_other_name(names, word));
  }
  const std::string text = fmt::format("unexpected argument '{}'", word);
  if (const std::string remedy = remedy_of_any_list(parsed, word); !remedy.empty()) return text + remedy;
  return has_option(command, "--query") ? text + "; name the query with --query" : text;
}

/// The leftover word to report: an option, in preference to what may be its value.
const std::string& word_to_name(const std::vector<std::string>& words) {
  const auto option = std::find_if(words.begin(), words.end(), [](const auto& word) { return word.starts_with('-'); });
  return option != words.end() ? *option : words.front();
}

std::string replaced(std::string text, const std::string& old, const std::string& with) {
  const std::size_t at = text.find(old);
  return at == text.npos ? text : text.replace(at, old.size(), with);
}

/// An option without its value, or with one too many.
std::string mismatch(const std::string& text) {
  const bool too_many = text.find("At Most") != text.npos || text.find("At most") != text.npos;
  return text.substr(0, text.find(':')) + (too_many ? " is given more than once" : " needs a value");
}

/// A flag with another value: the values of other options are checked before they are converted.
std::string not_converted(const std::string& text) {
  const std::string start = "Could not convert: ";
  const std::size_t equals = text.find(" = ");
  if (!text.starts_with(start) || equals == text.npos) return text;
  return fmt::format("{}: '{}' is not one of true, false", text.substr(start.size(), equals - start.size()),
                     text.substr(equals + 3));
}

}  // namespace

std::string option_message(const CLI::ParseError& error) {
  std::string text = error.what();
  switch (static_cast<CLI::ExitCodes>(error.get_exit_code())) {
    case CLI::ExitCodes::ArgumentMismatch:
      return mismatch(text);
    case CLI::ExitCodes::ConversionError:
      return not_converted(text);
    case CLI::ExitCodes::ExcludesError:
      return replaced(text, " excludes ", " can't be combined with ");
    case CLI::ExitCodes::RequiresError:
      return replaced(text, " requires ", " needs ");
    default:
      return text;
  }
}

const CLI::App& named_command(const CLI::App& program) {
  const CLI::App* at = &program;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().front();
  return *at;
}

void take_lists_as_words(CLI::App& program) {
  for (CLI::Option* const option : program.get_options({}))
    if (is_list(*option)) option->allow_extra_args(false);
  for (CLI::App* const command : program.get_subcommands({})) take_lists_as_words(*command);
}

void refuse_split_lists(const CLI::App& command) {
  std::map<const CLI::Option*, std::size_t> words;  // of each option so far
  CLI::Option* before = nullptr;
  for (CLI::Option* const option : command.parse_order()) {
    const std::size_t number = words[option]++;
    if (option->get_positional() && file_naming(*option) != nullptr && before != nullptr && is_list(*before)) {
      const std::string& word = option->results()[number];
      std::error_code unknown;
      if (!std::filesystem::exists(word, unknown) && word != "-" && may_have(*before, word, true))
        throw CLI::ValidationError(
            fmt::format("no file '{}' for {}{}", word, option->get_name(true), list_remedy(*before, word)));
    }
    before = option;
  }
}

std::string usage_message(const CLI::App& program, const CLI::ParseError& error) {
  const CLI::App& command = named_command(program);
  const std::string text = error.what();
  std::vector<std::string> words = command.remaining();
  if (words.empty()) words = program.remaining(true);
  // Unexpected words are reported as errors of their command, whichever of these errors CLI11 throws.
  switch (const auto kind = static_cast<CLI::ExitCodes>(error.get_exit_code())) {
    case CLI::ExitCodes::ExtrasError:
    case CLI::ExitCodes::RequiredError:
      if (!words.empty()) return unexpected(describe(program), command, word_to_name(words));
      return kind == CLI::ExitCodes::RequiredError ? replaced(text, "A subcommand", "a command") : text;
    default:
      return option_message(error);
  }
}

}  // namespace quern::tools
