#include <utf8proc.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "quern/core/error.hpp"
#include "quern/text/analyzer.hpp"

#include "catch.hpp"

using namespace quern;

namespace {

using Terms = std::vector<std::string>;

Terms terms_of(std::string_view text, const std::string& stemmer, const std::string& stopwords) {
  return Analyzer(make_analyzer_options(stemmer, stopwords)).terms(text);
}

}  // namespace

TEST_CASE("Without options terms are tokens", "[text]") {
  CHECK(terms_of("The Running MILLS", "none", "none") == Terms{"the", "running", "mills"});
  CHECK(terms_of("a\xFF"
                 "b",
                 "none", "none") == Terms{"a", "b"});
}

TEST_CASE("Porter2 stems words", "[text]") {
  CHECK(terms_of("running mills generously grinding skies dying news", "porter2", "none") ==
        Terms{"run", "mill", "generous", "grind", "sky", "die", "news"});
  CHECK(terms_of("caf\xC3\xA9s \xE6\x97\xA5", "porter2", "none") == Terms{"caf\xC3\xA9", "\xE6\x97\xA5"});
}

TEST_CASE("A stem is never empty nor longer than its token", "[text][property]") {
  Stemmer stemmer("porter2");
  std::string word;
  for (unsigned number = 0; number < 200000; ++number) {
    word.clear();
    for (unsigned rest = number; rest > 0; rest /= 12) word += "seingldtyaro"[rest % 12];
    if (word.empty()) continue;
    const std::string_view stem = stemmer.stem(word);
    REQUIRE_FALSE(stem.empty());
    REQUIRE(stem.size() <= word.size());
  }
}

TEST_CASE("Stop words are removed before stemming", "[text]") {
  CHECK(terms_of("The mills of THE gods don't grind", "porter2", "english") == Terms{"mill", "god", "grind"});
  CHECK(terms_of("being beings", "porter2", "english") == Terms{"be"});
}

TEST_CASE("The English stop words are sorted tokens without duplicates", "[text]") {
  const auto& words = english_stopwords();
  CHECK(words.size() >= 100);
  CHECK(words.size() <= 250);
  CHECK(std::adjacent_find(words.begin(), words.end(), std::greater_equal<>()) == words.end());
  for (const std::string& word : words) CHECK(terms_of(word, "none", "none") == Terms{word});
}

TEST_CASE("A file of stop words has one word per line, and comments", "[text]") {
  CHECK(parse_stopwords("The # an article\r\n# all of it a comment\n\nof\nof\nDon't\nlast") ==
        Terms{"don", "last", "of", "t", "the"});
  CHECK(parse_stopwords("").empty());
  const std::string path = "test_stopwords.tmp";
  std::ofstream(path) << "mill\nwheel";
  const AnalyzerOptions options = make_analyzer_options("none", path);
  std::remove(path.c_str());
  CHECK(options.stopwords == Terms{"mill", "wheel"});
  CHECK(options.stopwords_name == "file");
  CHECK_THROWS_AS(make_analyzer_options("none", path), IoError);
}

TEST_CASE("An unknown stemmer is refused", "[text]") {
  CHECK(stemmer_names() == Terms{"none", "porter2"});
  CHECK_THROWS_AS(make_analyzer_options("porter1", "none"), InvalidArgument);
  CHECK_THROWS_AS(Stemmer("english"), InvalidArgument);
}

TEST_CASE("Options can be written as text and read back", "[text][format]") {
  for (const char* stopwords : {"none", "english"}) {
    const AnalyzerOptions options = make_analyzer_options("porter2", stopwords);
    const std::string text = analyzer_to_json(options);
    CHECK(analyzer_from_json(text, "test") == options);
    CHECK(analyzer_to_json(analyzer_from_json(text, "test")) == text);
  }
  CHECK(analyzer_to_json({"none", {"a", "\xC3\xA9"}, "file"}) ==
        "{\"stemmer\":\"none\",\"stopwords\":[\"a\",\"\xC3\xA9\"],\"stopwords_name\":\"file\"}");
}

TEST_CASE("Damaged options are refused", "[text][format]") {
  for (const char* text : {"", "{", "[]", "null", "{}", "{\"stemmer\":1,\"stopwords\":[],\"stopwords_name\":\"none\"}",
                           "{\"stemmer\":\"none\",\"stopwords\":{},\"stopwords_name\":\"none\"}",
                           "{\"stemmer\":\"none\",\"stopwords\":[\"b\",\"a\"],\"stopwords_name\":\"file\"}",
                           "{\"stemmer\":\"none\",\"stopwords\":[\"a\",\"a\"],\"stopwords_name\":\"file\"}",
                           "{\"stemmer\":\"none\",\"stopwords\":[\"\xFF\"],\"stopwords_name\":\"file\"}"}) {
    INFO(text);
    CHECK_THROWS_AS(analyzer_from_json(text, "test"), CorruptFile);
  }
  CHECK_THROWS_AS(analyzer_from_json("{\"stemmer\":\"new\",\"stopwords\":[],\"stopwords_name\":\"none\"}", "test"),
                  UnsupportedVersion);
}

TEST_CASE("The key ascii in options of older files is ignored", "[text][format]") {
  for (const char* ascii : {"true", "false"}) {
    const std::string text =
        std::string("{\"ascii\":") + ascii + ",\"stemmer\":\"none\",\"stopwords\":[],\"stopwords_name\":\"none\"}";
    const AnalyzerOptions options = analyzer_from_json(text, "test");
    CHECK(options == AnalyzerOptions());
    CHECK(Analyzer(options).terms("Na\xC3\xAFve caf\xC3\xA9 tea") == Terms{"na\xC3\xAFve", "caf\xC3\xA9", "tea"});
  }
}

TEST_CASE("The versions of the libraries that analyze terms are reported", "[text]") {
  const TextLibraries plain = text_libraries(make_analyzer_options("none", "english"));
  CHECK(plain.utf8proc == utf8proc_version());
  CHECK(plain.unicode == utf8proc_unicode_version());
  CHECK(plain.libstemmer.empty());
  CHECK_FALSE(text_libraries(make_analyzer_options("porter2", "none")).libstemmer.empty());
}

TEST_CASE("Stop words can be given as a list of words", "[text]") {
  const AnalyzerOptions options = make_analyzer_options("none", "words:the,of,a");
  CHECK(options.stopwords == std::vector<std::string>{"a", "of", "the"});
  CHECK(Analyzer(options).terms("The miller of a village") == std::vector<std::string>{"miller", "village"});
}
