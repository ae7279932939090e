#include <set>

#include "quern/core/random.hpp"
#include "quern/text/snippet.hpp"

#include "catch.hpp"

namespace quern {
namespace {

Snippet snippet_of(std::string_view text, const std::string& query, Analyzer& analyzer, std::size_t piece = 1000) {
  SnippetMaker maker(query, analyzer);
  for (std::size_t from = 0; from < text.size(); from += piece) maker.add(text.substr(from, piece));
  return maker.finish();
}

Snippet plain_snippet(std::string_view text, const std::string& query) {
  Analyzer analyzer{AnalyzerOptions()};
  return snippet_of(text, query, analyzer);
}

std::vector<std::string> marked(const Snippet& snippet) {
  std::vector<std::string> words;
  for (const TextPlace& place : snippet.matches)
    words.push_back(snippet.text.substr(place.begin, place.end - place.begin));
  return words;
}

std::string numbered(int from, int to) {
  std::string text;
  for (int i = from; i < to; ++i) text += (text.empty() ? "n" : " n") + std::to_string(i);
  return text;
}

using Words = std::vector<std::string>;

}  // namespace

TEST_CASE("a short text is its own snippet, with the query's words marked", "[text][snippet]") {
  const Snippet snippet = plain_snippet("The water  turns\nthe mill-wheel. Water!", "water wheel");
  CHECK(snippet.text == "The water turns the mill-wheel. Water!");
  CHECK(marked(snippet) == Words{"water", "mill-wheel", "Water"});
  CHECK(marked(plain_snippet("see \"(water).\"", "water")) == Words{"water"});
  CHECK(plain_snippet("", "water").text.empty());
  CHECK(plain_snippet("one two", "").text == "one two");
}

TEST_CASE("without a match a text's start is its snippet", "[text][snippet]") {
  const Snippet snippet = plain_snippet(numbered(0, 500), "water");
  CHECK(snippet.text == numbered(0, 30));
  CHECK(snippet.matches.empty());
}

TEST_CASE("a snippet is the passage with the most distinct terms", "[text][snippet]") {
  const std::string text = numbered(0, 100) + " water water water " + numbered(100, 1000) + " water mill " +
                           numbered(1000, 2000) + " water mill " + numbered(2000, 2100);
  const Snippet snippet = plain_snippet(text, "water mill stone");
  CHECK(marked(snippet) == Words{"water", "mill"});
  CHECK(snippet.text == numbered(986, 1000) + " water mill " + numbered(1000, 1014));
  CHECK(plain_snippet(numbered(0, 100) + " mill", "mill").text == numbered(71, 100) + " mill");
  CHECK(plain_snippet("mill " + numbered(0, 100), "mill").text == "mill " + numbered(0, 29));
}

TEST_CASE("stemmed words match, and long words are cut between characters", "[text][snippet]") {
  Analyzer stemming(make_analyzer_options("porter2", "english"));
  CHECK(marked(snippet_of("the miller was milling", "mills", stemming)) == Words{"milling"});
  std::string umlauts;
  for (int i = 0; i < 100; ++i) umlauts += "\u00fc";
  const Snippet snippet = plain_snippet("a" + umlauts + " M\u00fchle", "M\u00dcHLE");
  CHECK(snippet.text == "a" + umlauts + " M\u00fchle");
  CHECK(marked(snippet) == Words{"M\u00fchle"});
  CHECK(plain_snippet(std::string(5000, '\x80'), "x").text.size() == snippet_words * max_snippet_word_bytes);
}

TEST_CASE("no passage of a text has more distinct terms than its snippet, however the text is cut",
          "[text][snippet][property]") {
  RandomBits random(7);
  Analyzer analyzer{AnalyzerOptions()};
  for (int turn = 0; turn < 200; ++turn) {
    Words words;
    for (std::uint64_t left = random.below(200); left > 0; --left)
      words.push_back(random.below(10) == 0 ? "q" + std::to_string(random.below(5)) : "w" + std::to_string(left));
    std::string text;
    for (const std::string& word : words) text += word + " ";
    std::size_t most = 0;
    for (std::size_t from = 0; from < words.size(); ++from) {
      std::set<std::string> distinct;
      for (std::size_t i = from; i < std::min(words.size(), from + snippet_words); ++i)
        if (words[i].front() == 'q') distinct.insert(words[i]);
      most = std::max(most, distinct.size());
    }
    const Snippet snippet = snippet_of(text, "q0 q1 q2 q3 q4", analyzer);
    const Words found = marked(snippet);
    REQUIRE(std::set<std::string>(found.begin(), found.end()).size() == most);
    REQUIRE((text.find(snippet.text) != std::string::npos || snippet.text.empty()));
    REQUIRE(std::count(snippet.text.begin(), snippet.text.end(), ' ') + 1 ==
            static_cast<std::ptrdiff_t>(std::clamp<std::size_t>(words.size(), 1, snippet_words)));
    const Snippet in_pieces = snippet_of(text, "q0 q1 q2 q3 q4", analyzer, 1 + random.below(9));
    REQUIRE(in_pieces.text == snippet.text);
    REQUIRE(in_pieces.matches == snippet.matches);
  }
}

}  // namespace quern
