#include "quern/text/analyzer.hpp"

#include <libstemmer.h>
#include <nlohmann/json.hpp>
#include <utf8proc.h>

#include <cstring>

#include "quern/core/named.hpp"
#include "quern/io/byte_source.hpp"
#include "quern/io/zstd_frame.hpp"
#include "quern/text/stop_lists.hpp"
#include "quern/text/utf8.hpp"

#ifndef QUERN_LIBSTEMMER_VERSION
#define QUERN_LIBSTEMMER_VERSION "unknown"
#endif

namespace quern {
namespace {

struct NamedStemmer {
  const char* name;
  const char* algorithm;  ///< libstemmer's name, or null if tokens stay as they are
};

/// The name in manifests of Snowball's algorithm "english".
constexpr const char *english_name = "english", *porter2 = "porter2";

/// None, Porter2, and the algorithms of libstemmer by their own names.
const std::vector<NamedStemmer>& stemmers() {
  static const std::vector<NamedStemmer> all = [] {
    std::vector<NamedStemmer> known = {{"none", nullptr}, {porter2, english_name}};
    for (const char** name = sb_stemmer_list(); *name != nullptr; ++name) known.push_back({*name, *name});
    return known;
  }();
  return all;
}

[[noreturn]] void refuse(std::string_view what, std::string_view why) {
  throw CorruptFile("{}: the analyzer's options are damaged: {}", what, why);
}

/// Sets the stop words from their form on the command line.
void set_stopwords(const std::string& stopwords, AnalyzerOptions& options) {
  constexpr std::string_view inline_words = "words:";
  if (stopwords == "none") return;
  options.stopwords_name = "file";
  if (stopwords.starts_with(inline_words)) {
    std::string lines = stopwords.substr(inline_words.size());
    std::replace(lines.begin(), lines.end(), ',', '\n');
    options.stopwords = parse_stopwords(lines);
  } else if (has_named(all_stop_lists(), stopwords)) {
    options.stopwords = stop_list(stopwords);
    options.stopwords_name = stopwords;
  } else {
    options.stopwords = read_stopwords(stopwords);
  }
}

bool is_strictly_sorted(const std::vector<std::string>& words) {
  return std::adjacent_find(words.begin(), words.end(), std::greater_equal<>()) == words.end();
}

}  // namespace

std::vector<std::string> stop_list(std::string_view language) {
  return parse_stopwords(find_named(all_stop_lists(), language, "list of stop words").words);
}

std::vector<std::string> parse_stopwords(std::string_view text) {
  std::string line;
  std::vector<std::string> words;
  TokenBuffer buffer;
  while (!text.empty()) {
    const std::string_view whole = take_until(text, '\n');
    repair_utf8(whole.substr(0, whole.find('#')), line);
    tokenize(
        line, buffer, [&](std::string_view token) { words.emplace_back(token); }, [] {});
  }
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  return words;
}

std::vector<std::string> read_stopwords(const std::string& path) {
  return parse_stopwords(read_whole(path, max_stopword_bytes));
}

const std::vector<std::string>& language_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> known = names_of(all_stop_lists());
    known.insert(known.begin(), "none");
    return known;
  }();
  return names;
}

const std::vector<std::string>& stemmer_names() {
  static const std::vector<std::string> names = names_of(stemmers());
  return names;
}

const char* libstemmer_version() { return QUERN_LIBSTEMMER_VERSION; }

Stemmer::Stemmer(std::string_view name) {
  const char* const algorithm = find_named(stemmers(), name, "stemmer").algorithm;
  if (algorithm == nullptr) return;
  stemmer_ = sb_stemmer_new(algorithm, "UTF_8");
  if (stemmer_ == nullptr) throw Error("libstemmer can't create the stemmer \"{}\"", algorithm);
}

Stemmer::~Stemmer() { sb_stemmer_delete(stemmer_); }

std::string_view Stemmer::stem(std::string_view token) {
  if (stemmer_ == nullptr) return token;
  const auto* stem =
      sb_stemmer_stem(stemmer_, reinterpret_cast<const sb_symbol*>(token.data()), static_cast<int>(token.size()));
  if (stem == nullptr) throw Error("libstemmer ran out of memory");
  const auto size = static_cast<std::size_t>(sb_stemmer_length(stemmer_));
  if (size == 0 || size > max_term_bytes) return token;
  std::memcpy(stem_.data(), stem, size);
  return {stem_.data(), size};
}

AnalyzerOptions make_analyzer_options(const std::string& stemmer, const std::string& stopwords,
                                      const std::string& language) {
  if (!language.empty() && language != "none") find_named(all_stop_lists(), language, "language");
  const auto or_of_language = [&](const std::string& given) {
    return !given.empty() ? given : language.empty() ? "none" : language;
  };
  AnalyzerOptions options;
  options.stemmer = or_of_language(stemmer);
  const Stemmer check(options.stemmer);
  if (options.stemmer == english_name) options.stemmer = porter2;
  set_stopwords(or_of_language(stopwords), options);
  return options;
}

std::string analyzer_to_json(const AnalyzerOptions& options) {
  // nlohmann::json sorts names by bytes, so the text depends only on the options.
  nlohmann::json json{
      {"stemmer", options.stemmer}, {"stopwords", options.stopwords}, {"stopwords_name", options.stopwords_name}};
  if (options.keeps_words) json["keeps_words"] = true;
  return json.dump();
}

AnalyzerOptions analyzer_from_json(std::string_view json, std::string_view what) {
  AnalyzerOptions options;
  try {
    const auto parsed = nlohmann::json::parse(json);
    parsed.at("stemmer").get_to(options.stemmer);
    parsed.at("stopwords").get_to(options.stopwords);
    parsed.at("stopwords_name").get_to(options.stopwords_name);
    options.keeps_words = parsed.value("keeps_words", false);
  } catch (const nlohmann::json::exception& error) {
    refuse(what, error.what());
  }
  if (!is_strictly_sorted(options.stopwords)) refuse(what, "stop words are not sorted");
  if (!has_named(stemmers(), options.stemmer)) {
    throw UnsupportedVersion("{}: made with the stemmer \"{}\", which this version does not support", what,
                             options.stemmer);
  }
  return options;
}

TextLibraries text_libraries(const AnalyzerOptions& options) {
  const bool stems = !Stemmer(options.stemmer).changes_nothing();
  TextLibraries libraries;
  libraries.analyzer = analyzer_version;
  libraries.unicode = utf8proc_unicode_version();
  libraries.utf8proc = utf8proc_version();
  if (stems) libraries.libstemmer = libstemmer_version();
  libraries.zstd = zstd_version();
  return libraries;
}

Analyzer::Analyzer(const AnalyzerOptions& options)
    : stemmer_(options.stemmer),
      stopwords_(options.stopwords.begin(), options.stopwords.end()),
      plain_(stopwords_.empty() && stemmer_.changes_nothing()),
      keeps_words_(options.keeps_words) {}

std::vector<std::string> Analyzer::terms(std::string_view text) {
  std::vector<std::string> all;
  if (keeps_words_) {
    for (std::string_view word = next_word(text); !word.empty(); word = next_word(text)) all.emplace_back(word);
    return all;
  }
  std::string repaired;
  repair_utf8(text, repaired);
  analyze(
      repaired, [&](std::string_view term) { all.emplace_back(term); }, [] {});
  return all;
}

}  // namespace quern
