#include <iterator>
#include <sstream>
#include <stdexcept>

#include "help/command_text.hpp"

namespace quern::tools {
namespace {

/// Options under a heading, by how many people need them. The names are the long ones; -k has no other. COMMAND/NAME is
/// a name that means something else in this command than in others.
struct Heading {
  const char* title;
  std::array<const char*, 3> options;  ///< those of each level
};

constexpr Heading headings[] = {
    {"Corpus",
     {"files-from format keep-fields skip-bad ranges/count", "corpus range from",
      "files-root include exclude id-field title-field text-field url-field vector-field max-document duplicates "
      "max-errors languages drop-copies html"}},
    {"Analysis", {"stemmer stopwords impacts", "index", "impact-scale"}},
    {"Document order", {"order by pagerank", "links", "pagerank-scale report"}},
    {"Index", {"codec quantize store-text forward", "to", "block-size recursion"}},
    {"Shards", {"shard shards statistics scales", "", ""}},
    {"Synthetic data",
     {"df docs mean-length", "trees leaves hidden lengths",
      "df-docs clustering mean-links synthetic postings mean-gap lookups longer least-postings most-postings"}},
    {"Queries",
     {"queries query queries-format algorithm algorithms k filter method methods", "ks batch-wait train",
      "query-scale queries-limit visits levels segment no-cpu cpu-methods"}},
    {"Scoring", {"scorer", "scores", "k1 b idf alpha no-early-termination early-termination"}},
    {"Second stage", {"ranker rerank run", "features qrels", "ranker-memory gpu-from fast-math list"}},
    {"GPU",
     {"device gpu-memory strategies", "gpus plan gpu-options",
      "gpu strategy batch batches transfer bucketing one-by-one limits"}},
    {"Cache plans",
     {"policy policies budget", "lambdas points replay",
      "max-admission block round count memories base calibrate part link csv overlap steps limit"}},
    {"Scheduling",
     {"rate", "schedule deadline costs cpu-threads",
      "times max-blocks gpu-share gpu-batches max-batch hand-over allow-missed seconds"}},
    {"Measures", {"measures compare per-query", "complete", "relevance-level depth samples test"}},
    {"Measurement", {"repeats", "warm-up", "no-peers"}},
    {"Output",
     {"output output-format fields force json stats", "tag text docs lists tokens intersect/count", "config"}},
    {"Resources", {"memory threads quiet", "tmp", "seed"}},
    {"Help", {"help version", "man commands all", "help-all"}}};

bool has_word(const char* list, const std::string& word) {
  std::istringstream words(list);
  return std::find(std::istream_iterator<std::string>(words), {}, word) != std::istream_iterator<std::string>();
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

}  // namespace

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

std::vector<OptionText> main_options(const CommandText& command) {
  std::vector<OptionText> shown = command.options;
  for (std::size_t levels = std::tuple_size_v<decltype(Heading::options)>;
       levels > 1 && shown.size() > max_main_options; --levels)
    std::erase_if(shown, [&](const OptionText& option) { return option.level + 1 == levels; });
  return shown;
}

}  // namespace quern::tools
