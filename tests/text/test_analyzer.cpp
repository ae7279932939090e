#include <utf8proc.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "quern/core/error.hpp"
#include "quern/text/analyzer.hpp"
#include "quern/text/stop_lists.hpp"
#include "quern/text/utf8.hpp"

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

TEST_CASE("Every stemmer of Snowball can be used by its name", "[text]") {
  const auto stem = [](const char* stemmer, const char* word) { return terms_of(word, stemmer, "none").front(); };
  CHECK(stem("french", "continuellement") == "continuel");
  CHECK(stem("german", "aufeinanderfolgende") == "aufeinanderfolg");
  CHECK(stem("spanish", "cheques") == "chequ");
  CHECK(stem("russian", "\u0432\u0430\u0436\u043d\u0435\u0439\u0448\u0438\u0445") == "\u0432\u0430\u0436\u043d");
  CHECK(stem("porter", "generously") == "gener");
  CHECK(stem("porter2", "generously") == "generous");
  CHECK(make_analyzer_options("english", "none") == make_analyzer_options("porter2", "none"));
  CHECK(stemmer_names().size() > 25);
}

TEST_CASE("Stems of all stemmers are UTF-8 of 1 to 255 bytes", "[text][property]") {
  const std::u32string letters =
      U"aeiousntrlgmhbk\u00e9\u00f6\u0131\u0565\u057d\u03bf\u03c3\u0438\u0442\u0627\u0629"
      U"\u0915\u094b\u0ba4\u0bc8\u05e2";
  std::minstd_rand random(1);
  for (const std::string& name : stemmer_names()) {
    INFO(name);
    Stemmer stemmer(name);
    for (unsigned round = 0; round < 3000; ++round) {
      std::string word;
      // Whole words of one script, whose letters are neighbours above, and mixed ones.
      const std::size_t from = random() % letters.size(), span = round % 2 == 0 ? 5 : letters.size();
      const std::size_t length = round % 50 == 0 ? 84 : 1 + random() % 12;
      for (std::size_t i = 0; i < length; ++i) {
        std::array<std::uint8_t, 4> bytes{};
        const auto size = utf8proc_encode_char(
            static_cast<utf8proc_int32_t>(letters[(from + random() % span) % letters.size()]), bytes.data());
        word.append(reinterpret_cast<const char*>(bytes.data()), static_cast<std::size_t>(size));
      }
      const std::string padded = word + std::string(token_padding_bytes, '\0');
      const std::string stem(stemmer.stem(std::string_view(padded).substr(0, word.size())));
      INFO(word);
      REQUIRE(!stem.empty());
      REQUIRE(stem.size() <= max_term_bytes);
      std::string repaired;
      repair_utf8(stem, repaired);
      REQUIRE(repaired == stem);
    }
  }
}

TEST_CASE("A stem of Porter2 is never empty nor longer than its token", "[text][property]") {
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

TEST_CASE("Stop words of languages are sorted tokens without duplicates", "[text]") {
  for (const StopList& list : all_stop_lists()) {
    INFO(list.name);
    const Terms words = stop_list(list.name);
    CHECK(words.size() >= 40);
    CHECK(words.size() <= 370);
    CHECK(std::adjacent_find(words.begin(), words.end(), std::greater_equal<>()) == words.end());
    for (const std::string& word : words) CHECK(terms_of(word, "none", "none") == Terms{word});
  }
  CHECK_THROWS_AS(stop_list("yiddish"), InvalidArgument);
}

TEST_CASE("A language sets the stemmer and the stop words that are not named", "[text]") {
  for (const std::string& language : language_names())
    CHECK(make_analyzer_options("", "", language) == make_analyzer_options(language, language));
  CHECK(make_analyzer_options("", "", "english") == make_analyzer_options("porter2", "english"));
  CHECK(make_analyzer_options("none", "", "french") == make_analyzer_options("none", "french"));
  CHECK(make_analyzer_options("", "none", "french") == make_analyzer_options("french", "none"));
  CHECK(make_analyzer_options("", "") == AnalyzerOptions());
  CHECK(Analyzer(make_analyzer_options("", "", "french")).terms("Les moulins de l'\u00eele ne tournent plus") ==
        Terms{"moulin", "\u00eele", "tournent", "plus"});
  CHECK_THROWS_WITH(make_analyzer_options("", "", "frensh"),
                    Catch::Contains("romanian, russian") && Catch::Contains("; did you mean french?"));
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
  CHECK_THROWS_AS(make_analyzer_options("porter1", "none"), InvalidArgument);
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
