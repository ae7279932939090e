#include <utf8proc.h>

#include <random>
#include <string>
#include <vector>

#include "quern/text/tokenizer.hpp"
#include "quern/text/utf8.hpp"

#include "catch.hpp"

using namespace quern;

namespace {

using Tokens = std::vector<std::string>;

/// Tokens in order; "|" for a phrase end.
Tokens tokens_of(std::string_view text) {
  TokenBuffer buffer;
  Tokens tokens;
  tokenize(
      text, buffer, [&](std::string_view token) { tokens.emplace_back(token); }, [&] { tokens.emplace_back("|"); });
  return tokens;
}

std::uint64_t cut_terms_of(std::string_view text) {
  TokenBuffer buffer;
  tokenize(
      text, buffer, [](std::string_view) {}, [] {});
  return buffer.cut_terms();
}

bool is_ignorable(char32_t point) {
  return utf8proc_get_property(static_cast<utf8proc_int32_t>(point))->ignorable && point != 0x200B;
}

bool is_token_point(char32_t point) {
  const std::string_view category = utf8proc_category_string(static_cast<utf8proc_int32_t>(point));
  return category[0] == 'L' || category[0] == 'M' || category == "Nd";
}

std::string folded(const std::string& run) {
  utf8proc_uint8_t* mapped = nullptr;
  const auto size =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(run.data()), static_cast<utf8proc_ssize_t>(run.size()),
                   &mapped, static_cast<utf8proc_option_t>(UTF8PROC_CASEFOLD | UTF8PROC_COMPOSE | UTF8PROC_STABLE));
  REQUIRE(size > 0);
  std::string text(reinterpret_cast<const char*>(mapped), static_cast<std::size_t>(size));
  std::free(mapped);
  return text;
}

/// The definition, applied to each code point in order.
Tokens reference_tokens(std::string_view text) {
  Tokens tokens;
  std::string run;
  const auto end_run = [&] {
    if (!run.empty()) tokens.push_back(folded(run));
    run.clear();
  };
  while (!text.empty()) {
    const DecodedPoint decoded = decode_utf8(text);
    if (is_ignorable(decoded.point)) {
      // Neither part of a token nor its end.
    } else if (is_token_point(decoded.point)) {
      run += text.substr(0, decoded.bytes);
    } else {
      end_run();
      if (text[0] == phrase_end) tokens.emplace_back("|");
    }
    text.remove_prefix(decoded.bytes);
  }
  end_run();
  return tokens;
}

}  // namespace

TEST_CASE("ASCII tokens are runs of letters and digits in lower case", "[text]") {
  CHECK(tokens_of("") == Tokens{});
  CHECK(tokens_of(" .,;!") == Tokens{});
  CHECK(tokens_of("The C++20 std::vector isn't e-mail_2!") ==
        Tokens{"the", "c", "20", "std", "vector", "isn", "t", "e", "mail", "2"});
  CHECK(tokens_of("a\x1e"
                  "b\x1e\x1e") == Tokens{"a", "|", "b", "|", "|"});
}

TEST_CASE("Case is folded in full and accents are composed", "[text]") {
  CHECK(tokens_of("Caf\xC3\x89 Cafe\xCC\x81") == Tokens{"caf\xC3\xA9", "caf\xC3\xA9"});
  CHECK(tokens_of("STRASSE Stra\xC3\x9F"
                  "e") == Tokens{"strasse", "strasse"});
  CHECK(tokens_of("\xCE\xA3\xCE\x9F\xCE\xA6\xCE\x9F\xCE\xA3 \xCF\x83\xCE\xBF\xCF\x86\xCE\xBF\xCF\x82") ==
        Tokens{"\xCF\x83\xCE\xBF\xCF\x86\xCE\xBF\xCF\x83", "\xCF\x83\xCE\xBF\xCF\x86\xCE\xBF\xCF\x83"});
  CHECK(tokens_of("\xE2\x84\xAA"
                  "elvin") == Tokens{"kelvin"});
}

TEST_CASE("Letters, marks and digits of all scripts form tokens, all else separates them", "[text]") {
  CHECK(tokens_of("\xE6\x97\xA5\xE6\x9C\xAC\xE8\xAA\x9E\xE3\x80\x82\xE4\xB8\xAD") ==
        Tokens{"\xE6\x97\xA5\xE6\x9C\xAC\xE8\xAA\x9E", "\xE4\xB8\xAD"});
  CHECK(tokens_of("\xD9\xA1\xD9\xA2"
                  "3") == Tokens{"\xD9\xA1\xD9\xA2"
                                 "3"});
  CHECK(tokens_of("\xCC\x81"
                  "a") == Tokens{"\xCC\x81"
                                 "a"});
  CHECK(tokens_of("a\xE2\x80\x94"
                  "b\xC2\xA0"
                  "c\xE2\x80\x99s \xE2\x85\xA3 x\xC2\xB2 \xF0\x9F\x98\x80") == Tokens{"a", "b", "c", "s", "x"});
  CHECK(tokens_of("a\xEF\xBF\xBD"
                  "b") == Tokens{"a", "b"});
}

TEST_CASE("Ignorable characters stay within a word and leave nothing in its token", "[text][reports]") {
  for (const char* ignorable : {"\u00AD", "\u200C", "\u200D", "\u2060", "\u200E", "\uFEFF", "\uFE0F", "\u034F"}) {
    const std::string mark = ignorable;
    CHECK(tokens_of("Text" + mark + "datei") == Tokens{"textdatei"});
    CHECK(tokens_of(mark + "a" + mark + mark + "\u00E9" + mark + " b") == Tokens{"a\u00E9", "b"});
    CHECK(tokens_of("e" + mark + "\u0301") == Tokens{"\u00E9"});
    CHECK(tokens_of(mark + " " + mark + "\x1e") == Tokens{"|"});
    CHECK(tokens_of("a" + mark + "-" + mark + "b") == Tokens{"a", "b"});
    CHECK(cut_terms_of(std::string(255, 'x') + mark) == 0);
  }
  CHECK(tokens_of("zero\u200Bwidth") == Tokens{"zero", "width"});
}

TEST_CASE("Long tokens are cut at a character's end and counted", "[text]") {
  for (std::size_t length = max_term_bytes - 2; length <= max_term_bytes + 2; ++length) {
    const std::string word(length, 'X');
    CHECK(tokens_of(word + " a") == Tokens{std::string(std::min(length, max_term_bytes), 'x'), "a"});
    CHECK(cut_terms_of(word) == (length > max_term_bytes));
    CHECK(cut_terms_of(word + " " + word) == 2 * (length > max_term_bytes));
  }
  const std::string x254(254, 'x'), x255(255, 'x');
  CHECK(tokens_of(x254 + "\xC3\xA9 a") == Tokens{x254, "a"});
  CHECK(cut_terms_of(x254 + "\xC3\xA9 a") == 1);
  CHECK(tokens_of(x255 + "\xE2\x80\x94"
                         "a") == Tokens{x255, "a"});
  CHECK(cut_terms_of(x255 + "\xE2\x80\x94"
                            "a") == 0);
  CHECK(tokens_of(x255 + "x\xC3\xA9-a") == Tokens{x255, "a"});
  // The last e that would fit is dropped together with its accent, which doesn't fit.
  CHECK(tokens_of(x254 + "e\xCC\x81") == Tokens{x254});
}

// The tokenizer works on 64 and on 4,096 bytes at a time: runs, phrase ends and characters must cross these limits.
TEST_CASE("Tokens are the same at any offset of a long text", "[text][property]") {
  std::mt19937_64 random(7);
  const char* const parts[] = {"a",
                               "Z",
                               "9",
                               " ",
                               ".",
                               "\x1e",
                               "@",
                               "[",
                               "`",
                               "{",
                               "/",
                               ":",
                               "\x7f",
                               "\xC3\xA9",
                               "\xC2\xAD",
                               "\xE2\x80\x94",
                               "\xC2\xA0",
                               "\xE6\x97\xA5",
                               "\xF0\x9F\x98\x80"};
  for (int round = 0; round < 300; ++round) {
    // Some texts are pure ASCII, some have long runs.
    const std::size_t num_parts = round % 3 == 0 ? 13 : std::size(parts), size = random() % 9000;
    std::string text;
    while (text.size() < size) {
      text += parts[random() % num_parts];
      if (random() % 8 == 0) text.append(" ").append(random() % (round % 5 == 0 ? 200 : 20), 'Q');
      if (random() % 400 == 0) text.append(64 - text.size() % 64, ' ');
    }
    REQUIRE(tokens_of(text) == reference_tokens(text));
    REQUIRE(tokens_of(std::string(4090, ' ') + text) == reference_tokens(text));
  }
  for (const std::size_t length : {4095, 4096, 4097, 5000}) {
    const std::string text = "a " + std::string(length, 'x') + " b";
    CHECK(tokens_of(text) == Tokens{"a", std::string(max_term_bytes, 'x'), "b"});
    CHECK(cut_terms_of(text) == 1);
  }
}

TEST_CASE("A run of letters of any length gives one token", "[text]") {
  // These shrink most when folded: to a third, to a third, to three eighths.
  for (const char* letter :
       {"\xE2\x84\xAA", "\xE1\x84\x92\xE1\x85\xA1\xE1\x86\xAB", "\xCE\xB1\xCC\x93\xCC\x80\xCD\x85"}) {
    std::string run;
    while (run.size() < 100000) run += letter;
    const Tokens tokens = tokens_of(run);
    REQUIRE(tokens.size() == 1);
    CHECK(tokens[0].size() > max_term_bytes - 4);
    CHECK(tokens[0].size() <= max_term_bytes);
    CHECK(is_valid_utf8(tokens[0]));
    CHECK(cut_terms_of(run) == 1);
  }
}

TEST_CASE("Tokens of random text match the definition", "[text][property]") {
  const char* pieces[] = {"a",
                          "Z",
                          "9",
                          " ",
                          "-",
                          "\x1e",
                          "\xC3\x89",
                          "e\xCC\x81",
                          "\xCC\x81",
                          "\xE2\x80\x94",
                          "\xC3\x9F",
                          "\xE6\x97\xA5",
                          "\xF0\x9D\x94\xB8",
                          "\xD9\xA1",
                          "\xC4\xB0",
                          "\xEF\xAC\x83",
                          "\xE1\x84\x92",
                          "\xE1\x85\xA1",
                          "the",
                          "\xC2\xA0",
                          "\xCC\xA3",
                          "\xCD\x85"};
  std::mt19937 random(11);
  for (int round = 0; round < 5000; ++round) {
    std::string text;
    for (auto left = random() % 40; left > 0; --left) text += pieces[random() % std::size(pieces)];
    REQUIRE(tokens_of(text) == reference_tokens(text));
  }
}

TEST_CASE("The token of every code point matches the definition", "[text][property]") {
  std::string text;
  for (utf8proc_int32_t point = 1; point < 0x110000; ++point) {
    if (point >= 0xD800 && point < 0xE000) continue;
    utf8proc_uint8_t bytes[4];
    text.append("x ").append(reinterpret_cast<const char*>(bytes),
                             static_cast<std::size_t>(utf8proc_encode_char(point, bytes)));
    text += ' ';
  }
  const Tokens tokens = tokens_of(text);
  CHECK(tokens.size() > 1'200'000);
  CHECK((tokens == reference_tokens(text)));
}
