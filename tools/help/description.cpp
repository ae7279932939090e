#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string_view>

#include "help/help.hpp"

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

/// Which options name files, for which CLI11 has no place either.
std::map<const CLI::Option*, FileNaming>& all_namings() {
  static std::map<const CLI::Option*, FileNaming> namings;
  return namings;
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

/// Options under a heading, by how many people need them. The names are the long ones; -k has no other. COMMAND/NAME is
/// a name that means something else in this command than in others.
struct Heading {
  const char* title;
  std::array<const char*, 3> options;  ///< those of each level
};

constexpr Heading headings[] = {
    {"Corpus",
     {"files-from format keep-fields ranges/count", "corpus range from skip-bad",
      "files-root include exclude index/id-field parse/id-field title-field index/text-field parse/text-field "
      "url-field vector-field max-document duplicates "
      "max-errors languages drop-copies analyze/html"}},
    {"Analysis", {"language stemmer impacts", "stopwords index", "impact-scale"}},
    {"Document order", {"order by pagerank", "links", "pagerank-scale report seed"}},
    {"Index", {"codec quantize weights store-text forward", "to", "block-size recursion allow-empty"}},
    {"Shards", {"shard shards statistics scales", "", ""}},
    {"Synthetic data",
     {"df docs mean-length", "trees leaves hidden lengths",
      "df-docs clustering mean-links synthetic postings mean-gap lookups longer least-postings most-postings "
      "synth/seed "
      "codec/seed rerank/seed"}},
    {"Queries",
     {"docno queries query queries-format algorithm algorithms k filter method methods",
      "expand ks budget-us blocks-left-out batch-wait train",
      "id-field text-field query-scale queries-limit visits levels segment no-cpu cpu-methods"}},
    {"Scoring", {"scorer", "scores", "k1 b idf alpha no-early-termination early-termination"}},
    {"Second stage",
     {"ranker rerank run", "features qrels rankers", "features-from ranker-memory gpu-from fast-math list"}},
    {"GPU",
     {"device gpu-memory strategies", "gpus plan gpu-options",
      "gpu strategy batch batches transfer bucketing one-by-one limits"}},
    {"Cache plans",
     {"policy policies budget", "lambdas points replay",
      "list-buffer max-admission block round count memories list-buffers base calibrate part "
      "link csv overlap steps limit"}},
    {"Scheduling",
     {"rate", "schedule deadline costs cpu-threads",
      "times max-blocks gpu-share gpu-batches max-batch hand-over allow-missed seconds schedule/seed stream/seed"}},
    {"Fusion", {"fuse/method fuse/weights", "normalize rrf-k", ""}},
    {"Tuning", {"tune/qrels tune/k1 tune/b tune/alpha folds", "by-coordinates start", ""}},
    {"Measures",
     {"measure measures compare exact per-query", "complete", "relevance-level depth samples eval/seed test as"}},
    {"Measurement", {"repeats", "warm-up", "no-peers"}},
    {"Output",
     {"output output-format fields force json stats", "html tag text docs lists tokens intersect/count", "config"}},
    {"Resources", {"memory threads quiet", "tmp", ""}},
    {"Help", {"help version", "man commands all", "help-all"}}};

bool has_word(std::string_view list, std::string_view word) {
  for (std::size_t at = list.find(word); at != list.npos; at = list.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || list[at - 1] == ' ') && (end == list.size() || list[end] == ' ')) return true;
  }
  return false;
}

std::string long_name(const OptionText& option) {
  const std::string& name = option.names.back();
  return name.substr(std::min(name.find_first_not_of('-'), name.size()));
}

/// The option's name under the headings.
std::string listed_name(const CommandText& command, const OptionText& option) {
  std::string name = long_name(option), in_command = command.name() + "/" + name;
  for (const Heading& heading : headings)
    for (const char* list : heading.options)
      if (has_word(list, in_command)) return in_command;
  return name;
}

/// Sets the heading and level of each option of a command, and sorts them by heading. Throws std::logic_error for an
/// option that no heading has.
void put_under_headings(CommandText& command) {
  std::vector<OptionText> sorted;
  for (const Heading& heading : headings) {
    for (OptionText& option : command.options) {
      const std::string name = listed_name(command, option);
      for (std::size_t level = 0; level < heading.options.size() && option.heading.empty(); ++level) {
        if (!has_word(heading.options[level], name)) continue;
        option.heading = heading.title;
        option.level = level;
        sorted.push_back(option);
      }
    }
  }
  for (const OptionText& option : command.options)
    if (option.heading.empty()) throw std::logic_error("no heading has the option " + option.names.back());
  command.options = std::move(sorted);
}

}  // namespace

CLI::Option* name_file(CLI::Option* option, FileNaming naming) {
  all_namings().emplace(option, std::move(naming));
  return option;
}

const FileNaming* file_naming(const CLI::Option& option) {
  const auto found = all_namings().find(&option);
  return found == all_namings().end() ? nullptr : &found->second;
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
  const FileNaming* const naming = file_naming(option);
  text.is_file = naming != nullptr && !naming->takes_words;
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

std::vector<OptionText> main_options(const CommandText& command) {
  constexpr std::size_t max_main_options = 20;
  std::vector<OptionText> shown = command.options;
  for (std::size_t levels = std::tuple_size_v<decltype(Heading::options)>;
       levels > 1 && shown.size() > max_main_options; --levels)
    std::erase_if(shown, [&](const OptionText& option) { return option.level + 1 == levels; });
  return shown;
}

}  // namespace quern::tools
