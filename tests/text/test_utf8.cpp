#include <random>
#include <string>

#include "quern/text/utf8.hpp"

#include "catch.hpp"

using namespace quern;

namespace {

std::string repaired(std::string_view text, std::size_t expected_replacements) {
  std::string out = "left over";
  CHECK(repair_utf8(text, out) == expected_replacements);
  CHECK(is_valid_utf8(out));
  return out;
}

std::string encode(char32_t point) {
  const auto byte = [](char32_t value) { return static_cast<char>(value); };
  if (point < 0x80) return {byte(point)};
  if (point < 0x800) return {byte(0xC0 | point >> 6), byte(0x80 | (point & 0x3F))};
  if (point < 0x10000) {
    return {byte(0xE0 | point >> 12), byte(0x80 | (point >> 6 & 0x3F)), byte(0x80 | (point & 0x3F))};
  }
  return {byte(0xF0 | point >> 18), byte(0x80 | (point >> 12 & 0x3F)), byte(0x80 | (point >> 6 & 0x3F)),
          byte(0x80 | (point & 0x3F))};
}

}  // namespace

TEST_CASE("Every code point except surrogates is valid and decodes to itself", "[text]") {
  for (char32_t point = 1; point < 0x110000; ++point) {
    const std::string text = encode(point);
    const bool surrogate = point >= 0xD800 && point < 0xE000;
    if (is_valid_utf8(text) == surrogate) FAIL("code point " << static_cast<std::uint32_t>(point));
    if (surrogate) continue;
    const DecodedPoint decoded = decode_utf8(text);
    if (decoded.point != point || decoded.bytes != text.size()) FAIL("decodes " << static_cast<std::uint32_t>(point));
  }
  CHECK_FALSE(is_valid_utf8("\xF4\x90\x80\x80"));
}

TEST_CASE("Valid text is unchanged", "[text]") {
  CHECK(repaired("", 0).empty());
  CHECK(repaired("plain\ttext\r\n\f", 0) == "plain\ttext\r\n\f");
  CHECK(repaired("caf\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80", 0) == "caf\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80");
}

TEST_CASE("Each maximal ill-formed subsequence becomes one replacement character", "[text]") {
  const std::string r(replacement_character);
  CHECK(repaired("a\xFFz", 1) == "a" + r + "z");
  CHECK(repaired("\x80\xBF", 2) == r + r);
  CHECK(repaired("\xC0\xAF", 2) == r + r);
  CHECK(repaired("\xE2\x82", 1) == r);
  CHECK(repaired("\xE2\x82z", 1) == r + "z");
  CHECK(repaired("\xED\xA0\x80", 3) == r + r + r);
  // The example of the Unicode Standard, table 3-8.
  CHECK(repaired("\x61\xF1\x80\x80\xE1\x80\xC2\x62\x80\x63\x80\xBF\x64", 6) ==
        "a" + r + r + r + "b" + r + "c" + r + r + "d");
}

TEST_CASE("Control characters become spaces and a byte order mark is removed", "[text]") {
  CHECK(repaired(std::string_view("a\0b\x1e"
                                  "c\x0b",
                                  6),
                 0) == "a b c ");
  CHECK(repaired("\xEF\xBB\xBFtext", 0) == "text");
  CHECK(repaired("te\xEF\xBB\xBFxt", 0) == "te\xEF\xBB\xBFxt");
}

TEST_CASE("Messages quote the first characters of a text, in one line", "[text]") {
  CHECK(quoted_start("", 4) == "''");
  CHECK(quoted_start("mill", 4) == "'mill'");
  CHECK(quoted_start("mills", 4) == "'mill...'");
  CHECK(quoted_start("a\nb\x7f", 4) == "'a?b?'");
  for (const char32_t point : {U'\u00e9', U'\u20ac', U'\U0001F33E'}) {
    const std::string one = encode(point);
    std::string many;
    for (int i = 0; i < 50; ++i) many += one;
    for (std::size_t most = 0; most < 20; ++most) {
      const std::string quoted = quoted_start(many, most);
      CHECK(quoted == "'" + many.substr(0, most / one.size() * one.size()) + "...'");
    }
  }
  CHECK(quoted_start("\x80\x80\x80", 2) == "'...'");
}

TEST_CASE("Repair finds invalid bytes at any offset in a block", "[text]") {
  for (std::size_t at = 0; at < 200; ++at) {
    std::string text(200, 'x');
    text[at] = '\x01';
    std::string expected(200, 'x');
    expected[at] = ' ';
    CHECK(repaired(text, 0) == expected);
    text[at] = '\xFE';
    CHECK_FALSE(is_valid_utf8(text));
    CHECK(repaired(text, 1) == expected.substr(0, at) + std::string(replacement_character) + expected.substr(at + 1));
  }
}

TEST_CASE("Random bytes become valid text, which a second repair does not change", "[text][property]") {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::string text(random() % 200, ' ');
    for (char& c : text) c = static_cast<char>(random() % 4 == 0 ? random() : 0x80 | random() % 0x80);
    std::string once, twice;
    repair_utf8(text, once);
    REQUIRE(is_valid_utf8(once));
    REQUIRE(repair_utf8(once, twice) == 0);
    REQUIRE((once == twice || once.substr(0, 3) == "\xEF\xBB\xBF"));
  }
}
