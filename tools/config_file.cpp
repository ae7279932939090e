#include <boost/program_options.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>
#include <sstream>

#include "quern/io/file.hpp"

#include "stage_options.hpp"

namespace quern::tools {
namespace {

namespace po = boost::program_options;

constexpr const char* config_option = "config";

/// The command's options by their long names, as Boost takes them; --config itself is not allowed in a file.
po::options_description settings_of(const CLI::App& command) {
  po::options_description description;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames())
      if (name != config_option && name != "help") description.add_options()(name.c_str(), po::value<std::string>());
  }
  return description;
}

/// The number, from 1, of the last line that begins with `start` as a whole word; 0 if there is none.
std::size_t line_of(const std::string& text, const std::string& start) {
  std::istringstream lines(text);
  std::string line;
  std::size_t found = 0;
  for (std::size_t number = 1; std::getline(lines, line); ++number) {
    const std::size_t from = line.find_first_not_of(" \t");
    if (from == line.npos || line.compare(from, start.size(), start) != 0) continue;
    const std::size_t end = from + start.size();
    if (end == line.size() || std::string_view(" \t=#\r").find(line[end]) != std::string_view::npos) found = number;
  }
  return found;
}

std::string read_text(const std::string& path) {
  constexpr std::uint64_t max_bytes = 1 << 20;
  const File file = File::open_regular(path);
  if (file.size() > max_bytes)
    throw InvalidArgument("{}: is {}, too large for a configuration; is it the right file?", path,
                          size_text(file.size()));
  Bytes bytes(file.size());
  file.read_at(0, bytes);
  return std::string(as_text(bytes));
}

/// Boost would take `[index]` for the beginning of all names after it.
void refuse_sections(const std::string& path, const std::string& text) {
  std::istringstream lines(text);
  std::string line;
  for (std::size_t number = 1; std::getline(lines, line); ++number) {
    const std::size_t from = line.find_first_not_of(" \t");
    if (from != line.npos && line[from] == '[')
      throw usage_error(
          "{}, line {}: '{}' begins a section, which these files do not have; remove it, and write lines "
          "such as: codec = rice",
          path, number, line.substr(from, line.find_last_not_of(" \t\r") + 1 - from));
  }
}

po::parsed_options parse(const std::string& path, const std::string& text, const po::options_description& description) {
  refuse_sections(path, text);
  std::istringstream in(text);
  try {
    return po::parse_config_file(in, description);
  } catch (const po::unknown_option& error) {
    throw usage_error("{}, line {}: unknown setting '{}'; quern index --help lists the names of options", path,
                      line_of(text, error.get_option_name()), error.get_option_name());
  } catch (const po::invalid_config_file_syntax& error) {
    throw usage_error("{}, line {}: '{}' is not a setting; write lines such as: codec = rice", path,
                      line_of(text, error.tokens()), error.tokens());
  } catch (const po::error& error) {
    throw usage_error("{}: {}; write lines such as: codec = rice", path, error.what());
  }
}

/// none, english, or the words themselves: the file that they came from may be gone.
std::string stopwords_setting(const AnalyzerOptions& analyzer) {
  if (analyzer.stopwords_name == "none" || analyzer.stopwords_name == "english") return analyzer.stopwords_name;
  return fmt::format("words:{}", fmt::join(analyzer.stopwords, ","));
}

/// A file that PageRank came from is named only by its hash: its path is not stored.
std::string score_settings(const DocumentScoreSettings& scores) {
  std::string text = fmt::format("alpha = {}\npagerank-scale = {}\n", scores.alpha,
                                 name_of_value(pagerank_scales, scores.pagerank_scale));
  const PagerankSource source = scores.origin.source;
  if (source == PagerankSource::links || source == PagerankSource::uniform) text += "pagerank = links\n";
  const bool links = source == PagerankSource::link_file;
  if (links || source == PagerankSource::score_file)
    text += fmt::format("# and the {} with hash {}: {} = FILE\n", name_of_value(pagerank_sources, source),
                        scores.origin.file_hash, links ? "links" : "pagerank");
  return text;
}

}  // namespace

void add_config_option(CLI::App& command) {
  command.add_option(std::string("--") + config_option, "Read options from a file of lines `key = value`")
      ->type_name("FILE");
}

void apply_config_file(CLI::App& command) {
  const CLI::Option* config = command.get_option(std::string("--") + config_option);
  if (config->count() == 0) return;
  const std::string path = config->as<std::string>();
  const std::string text = read_text(path);
  const po::options_description description = settings_of(command);
  std::set<std::string> seen;
  for (const po::option& setting : parse(path, text, description).options) {
    if (!seen.insert(setting.string_key).second)
      throw usage_error("{}, line {}: '{}' is set twice", path, line_of(text, setting.string_key), setting.string_key);
    CLI::Option* option = command.get_option("--" + setting.string_key);
    if (option->count() > 0) continue;
    try {
      for (const std::string& value : setting.value) option->add_result(value);
      option->run_callback();
    } catch (const CLI::ParseError& error) {
      throw usage_error("{}, line {}: {}", path, line_of(text, setting.string_key), error.what());
    }
  }
}

std::string config_text(const IndexManifest& manifest, const BesideChoice& beside) {
  std::string text = fmt::format(
      "format = {}\nmax-document = {}\nstemmer = {}\nstopwords = {}\nduplicates = {}\n"
      "order = {}\nseed = {}\ncodec = {}\nblock-size = {}\nrecursion = {}\nk1 = {}\nb = {}\n",
      manifest.corpus_format, manifest.max_document_bytes, manifest.analyzer.stemmer,
      stopwords_setting(manifest.analyzer), name_of_value(duplicates_names, manifest.duplicates), manifest.order,
      manifest.order_seed, manifest.codec, manifest.codec_options.block_size, manifest.codec_options.recursion,
      manifest.bm25.k1, manifest.bm25.b);
  for (const NamedField& field : named_fields)
    if (const std::string& name = manifest.field_names.*field.member; !name.empty())
      text += fmt::format("{}-field = {}\n", field.name, name);
  if (const auto& kept = manifest.field_names.kept; !kept.empty())
    text += fmt::format("keep-fields = {}\n", fmt::join(kept, ","));
  if (const auto& languages = manifest.pages.languages; !languages.empty())
    text += fmt::format("languages = {}\n", fmt::join(languages, ","));
  if (manifest.pages.drop_copies) text += "drop-copies = true\n";
  if (manifest.impacts) {
    text += fmt::format("impacts = {}\n", manifest.impacts->bits);
    if (manifest.impacts->scale) text += fmt::format("impact-scale = {}\n", *manifest.impacts->scale);
  } else if (manifest.quantize_bits > 0) {
    text += fmt::format("quantize = {}\n", manifest.quantize_bits);
  }
  if (manifest.scores) text += score_settings(*manifest.scores);
  if (beside.forward) text += "forward = true\n";
  if (beside.texts) text += "store-text = true\n";
  return text;
}

}  // namespace quern::tools
