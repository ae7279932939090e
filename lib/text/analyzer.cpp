#include "quern/text/analyzer.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <utf8proc.h>

#include <algorithm>

#include "quern/core/error.hpp"
#include "quern/text/stopwords.hpp"
#include "quern/text/utf8.hpp"

namespace quern {
namespace {

[[noreturn]] void refuse(std::string_view what, std::string_view why) {
  throw CorruptFile(fmt::format("{}: the analyzer's options are damaged: {}", what, why));
}

bool is_strictly_sorted(const std::vector<std::string>& words) {
  return std::adjacent_find(words.begin(), words.end(), std::greater_equal<>()) == words.end();
}

}  // namespace

AnalyzerOptions make_analyzer_options(const std::string& stemmer, const std::string& stopwords) {
  const Stemmer check(stemmer);
  AnalyzerOptions options;
  options.stemmer = stemmer;
  if (stopwords == "none") return options;
  if (stopwords == "english") {
    options.stopwords = english_stopwords();
    options.stopwords_name = stopwords;
    return options;
  }
  constexpr std::string_view inline_words = "words:";
  if (stopwords.starts_with(inline_words)) {
    std::string lines = stopwords.substr(inline_words.size());
    std::replace(lines.begin(), lines.end(), ',', '\n');
    options.stopwords = parse_stopwords(lines);
  } else {
    options.stopwords = read_stopwords(stopwords);
  }
  options.stopwords_name = "file";
  return options;
}

std::string analyzer_to_json(const AnalyzerOptions& options) {
  // nlohmann::json orders names by their bytes, so the text depends on the options alone.
  return nlohmann::json{
      {"stemmer", options.stemmer}, {"stopwords", options.stopwords}, {"stopwords_name", options.stopwords_name}}
      .dump();
}

AnalyzerOptions analyzer_from_json(std::string_view json, std::string_view what) {
  AnalyzerOptions options;
  try {
    const auto parsed = nlohmann::json::parse(json);
    parsed.at("stemmer").get_to(options.stemmer);
    parsed.at("stopwords").get_to(options.stopwords);
    parsed.at("stopwords_name").get_to(options.stopwords_name);
  } catch (const nlohmann::json::exception& error) {
    refuse(what, error.what());
  }
  if (!is_strictly_sorted(options.stopwords)) refuse(what, "stop words out of order");
  const auto& names = stemmer_names();
  if (std::find(names.begin(), names.end(), options.stemmer) == names.end()) {
    throw UnsupportedVersion(
        fmt::format("{}: made with the stemmer \"{}\", which this program lacks", what, options.stemmer));
  }
  return options;
}

TextLibraries text_libraries(const AnalyzerOptions& options) {
  const bool stems = !Stemmer(options.stemmer).changes_nothing();
  return {utf8proc_unicode_version(), utf8proc_version(), stems ? libstemmer_version() : ""};
}

Analyzer::Analyzer(const AnalyzerOptions& options)
    : stemmer_(options.stemmer),
      stopwords_(options.stopwords.begin(), options.stopwords.end()),
      plain_(stopwords_.empty() && stemmer_.changes_nothing()) {}

std::vector<std::string> Analyzer::terms(std::string_view text) {
  std::string repaired;
  repair_utf8(text, repaired);
  std::vector<std::string> all;
  analyze(
      repaired, [&](std::string_view term) { all.emplace_back(term); }, [] {});
  return all;
}

}  // namespace quern
