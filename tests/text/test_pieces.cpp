#include <random>
#include <string>
#include <vector>

#include "quern/text/analyzer.hpp"
#include "quern/text/html.hpp"
#include "quern/text/html_scanner.hpp"
#include "quern/text/utf8.hpp"

#include "../corpus/temporary_folder.hpp"
#include "catch.hpp"
#include "converted.hpp"
#include "pieces.hpp"
#include "plain_document.hpp"

/// Texts give the same results in pieces as in one, wherever they are cut.
using namespace quern;
using namespace quern::testing;

namespace {

constexpr std::size_t piece_sizes[] = {1, 3, 30};

/// Calls check(text, max piece bytes, seed) for many small texts.
template <class Check>
void for_random_texts(int count, Check&& check) {
  std::mt19937_64 random(11);
  for (int i = 0; i < count; ++i) {
    const std::string text = random_markup(random);
    for (const std::size_t size : piece_sizes) check(text, size, random());
  }
}

std::vector<std::string> terms_of(Analyzer& analyzer, PieceSource& text) {
  std::vector<std::string> terms;
  analyzer.analyze(
      text, [&](std::string_view term) { terms.emplace_back(term); }, [&] { terms.emplace_back("|"); });
  terms.push_back(std::to_string(analyzer.cut_terms()));
  return terms;
}

std::string repaired(std::string_view text) {
  std::string out;
  repair_utf8(text, out);
  return out;
}

}  // namespace

TEST_CASE("Text in pieces is repaired like the whole text", "[text][pieces][property]") {
  for_random_texts(3000, [](const std::string& text, std::size_t size, std::uint64_t seed) {
    std::string whole;
    const std::size_t replaced = repair_utf8(text, whole);
    Utf8Repair repair;
    const std::string in_pieces = changed_in_pieces(text, repair, size, seed);
    if (in_pieces != whole || repair.replaced() != replaced) FAIL("in pieces of " << size << ": " << text);
  });
}

TEST_CASE("Text in pieces is converted like the whole text", "[text][pieces][property]") {
  for (const std::string charset : {"windows-1252", "utf-16le", "utf-16be", "utf-16", "utf-32", "shift_jis", "gb18030",
                                    "big5", "euc-jp", "iso-2022-jp", "utf-7"}) {
    for_random_texts(300, [&](const std::string& text, std::size_t size, std::uint64_t seed) {
      const std::string whole = converted(text, charset).value();
      CharsetConverter converter(charset);
      if (changed_in_pieces(text, converter, size, seed) != whole) FAIL(charset << " in pieces of " << size);
    });
  }
  CHECK_FALSE(CharsetConverter("utf-8").converts());
  CHECK_FALSE(CharsetConverter("no such charset").converts());
}

TEST_CASE("Text in pieces has the tokens of the whole text", "[text][pieces][property]") {
  Analyzer whole_analyzer(AnalyzerOptions{}), analyzer(AnalyzerOptions{});
  for_random_texts(3000, [&](const std::string& text, std::size_t size, std::uint64_t seed) {
    std::string phrases = repaired(text);
    std::replace(phrases.begin(), phrases.end(), ';', phrase_end);
    ViewPieces whole(phrases);
    RandomPieces pieces(phrases, size, seed);
    if (terms_of(whole_analyzer, whole) != terms_of(analyzer, pieces)) FAIL("in pieces of " << size << ": " << text);
  });
}

TEST_CASE("A run of any length in pieces is one token, cut once", "[text][pieces]") {
  for (const std::string character : {"x", "\xC3\xA9", "\xE6\x97\xA5", "\xCC\x81"}) {
    std::string text = "a ";
    for (int i = 0; i < 3000; ++i) text += character;
    text += " b";
    std::vector<std::string> expected;
    Analyzer plain(AnalyzerOptions{});
    plain.analyze(
        text, [&](std::string_view term) { expected.emplace_back(term); }, [] {});
    expected.emplace_back("1");
    for (const std::size_t size : {1, 7, 255, 256, 767, 768, 769, 1024, 5000}) {
      Analyzer analyzer(AnalyzerOptions{});
      RandomPieces pieces(text, size, size);
      CHECK(terms_of(analyzer, pieces) == expected);
    }
  }
}

TEST_CASE("A page in pieces gives the same result as the whole page", "[text][pieces][property]") {
  HtmlExtractor extractor;
  for_random_texts(3000, [&](const std::string& text, std::size_t size, std::uint64_t seed) {
    const std::string page = repaired(text);
    DocumentText whole, out;
    extractor.extract(page, "http://a/b", whole);
    RandomPieces pieces(page, size, seed);
    extractor.extract(pieces, "http://a/b", out);
    if (PlainDocument(out) != PlainDocument(whole)) FAIL("in pieces of " << size << ": " << page);
  });
}

TEST_CASE("Tags of more than 1 MiB are ignored", "[text][pieces]") {
  const std::string filler(HtmlScanner::max_look_ahead, 'x');
  const auto body_of = [](std::string_view page, std::size_t size) {
    DocumentText out;
    RandomPieces pieces(page, size, 3);
    HtmlExtractor().extract(pieces, "", out);
    return out.body.str();
  };
  for (const std::size_t size : {100, 100'000, 10'000'000}) {
    INFO("in pieces of " << size);
    CHECK(body_of("a<p title=\"<p>" + filler.substr(20) + "\">b", size) ==
          "a\x1e"
          "b");
    CHECK(body_of("a<p title=\"<p>" + filler + "\">b", size) == "ab");
    CHECK(body_of("a<p x='>' " + filler + " y = '>' z='" + filler + ">' w=>b", size) == "ab");
    // A = after a tag's name starts an attribute's name.
    CHECK(body_of("a<p" + filler + "=\">b", size) == "ab");
    CHECK(body_of("a</p " + filler + "><x>c", size) == "a c");
    CHECK(body_of("a<script x=" + filler + ">b</script>c", size) == "ab c");
    CHECK(body_of("a<script>b</script " + filler + ">c", size) == "a c");
    CHECK(body_of("a<script>" + filler + "<p>" + filler + "</script>b", size) == "a b");
    CHECK(body_of("a<!--" + filler + "<p>" + filler + "-->b", size) == "ab");
    CHECK(body_of("a<p title='" + filler, size) == "a");
  }
}

TEST_CASE("A title's end tag must start within 1 MiB", "[text][pieces]") {
  const std::string longest(HtmlScanner::max_look_ahead, 't');
  for (const std::size_t size : {100, 100'000, 10'000'000}) {
    INFO("in pieces of " << size);
    const auto extracted = [size](std::string_view page) {
      DocumentText out;
      RandomPieces pieces(page, size, 4);
      HtmlExtractor().extract(pieces, "", out);
      return PlainDocument(out);
    };
    CHECK(extracted("<title>" + longest + "</title>b").title == longest);
    const PlainDocument longer = extracted("<title>t" + longest + "</title><title>u</title>b");
    CHECK(longer.title == "u");
    CHECK(longer.body == "t" + longest + " b");
  }
}

TEST_CASE("A link's text is cut after 1 MiB", "[text][pieces]") {
  const std::string text(HtmlExtractor::max_anchor_bytes - 1, 'x');
  DocumentText out;
  HtmlExtractor().extract("<a href=y>" + text + "\xC3\xA9</a><a href=z>b", "http://a/", out);
  const std::vector<Link> links = out.links.all();
  REQUIRE(links.size() == 2);
  CHECK(links[0].anchor == text);
  CHECK(links[1].anchor == "b");
}

TEST_CASE("A large text is kept in a temporary file", "[text][pieces]") {
  const TemporaryFolder folder;
  SpooledText text(folder.path(""), 100);
  for (int round = 0; round < 2; ++round) {
    std::string expected;
    for (int i = 0; i < 1000; ++i) {
      const std::string part(static_cast<std::size_t>(i % 17), static_cast<char>('a' + i % 26));
      text.append(part);
      expected += part;
      if (text.size() != expected.size() || text.empty() != expected.empty()) FAIL("after part " << i);
      if (!expected.empty() && text.back() != expected.back()) FAIL("after part " << i);
      if (i % 100 == 0 && text.str() != expected) FAIL("after part " << i);
    }
    CHECK(text.str() == expected);
    text.clear();
    CHECK(text.empty());
  }
}

TEST_CASE("Links keep their texts, however late these arrive", "[text][pieces]") {
  const TemporaryFolder folder;
  SpooledLinks links(folder.path(""));
  for (int round = 0; round < 2; ++round) {
    std::vector<Link> expected;
    for (std::size_t i = 0; i < 20000; ++i) {
      expected.push_back({"http://a/" + std::to_string(i * i), ""});
      CHECK(links.append(expected.back().url) == i);
      if (i % 3 != 2) continue;
      expected[i - 1].anchor = std::string(i % 50, 'x');
      links.set_anchor(i - 1, expected[i - 1].anchor);
    }
    expected.push_back({"u", "v"});
    links.append("u", "v");
    CHECK(links.count() == expected.size());
    CHECK(links.all() == expected);
    links.clear();
    CHECK(links.all().empty());
  }
}
