#include <simdjson.h>

#include <regex>
#include <string>
#include <vector>

#include "quern/core/random.hpp"
#include "quern/formats/corpus/corpus_format.hpp"
#include "quern/text/utf8.hpp"

#include "../corpus/record_cutting.hpp"
#include "catch.hpp"

using namespace quern;
using namespace quern::testing;

namespace {

const CorpusFormat& json = jsonl_format;

/// Generates random JSON, some of it invalid.
class RandomJson {
 public:
  explicit RandomJson(std::uint64_t seed) : random_(seed) {}

  std::string object(int depth = 0) {
    std::string text = "{" + space();
    const bool has_docno = depth == 0 && random_.below(4) > 0;
    if (has_docno) text += "\"id\":" + std::to_string(random_.below(100));
    const std::uint64_t members = random_.below(depth == 0 ? 7 : 3);
    if (has_docno && members > 0) text += ",";
    for (std::uint64_t i = 0; i < members; ++i) {
      if (i > 0) text += "," + space();
      text += key() + space() + ":" + space() + value(depth + 1) + space();
    }
    return text + "}";
  }

  /// Changes some bytes.
  std::string damaged(std::string text) {
    for (std::uint64_t times = 1 + random_.below(3); times > 0 && !text.empty(); --times) {
      const std::size_t at = random_.below(text.size());
      static constexpr char marks[] = "{}[]:,\"\\ \nue0-.+tn\x01\x0b\x0c\x80\xc3\xe2\xff";
      const char mark = marks[random_.below(sizeof marks - 1)];
      if (random_.below(3) == 0) {
        text.erase(at, 1 + random_.below(3));
      } else if (random_.below(2) == 0) {
        text.insert(at, 1, mark);
      } else {
        text[at] = mark;
      }
    }
    return text;
  }

 private:
  template <std::size_t n>
  std::string one_of(const char* const (&texts)[n]) {
    return texts[random_.below(n)];
  }

  std::string space() { return random_.below(4) > 0 ? "" : one_of({" ", "\n", "\t \r"}); }

  std::string key() {
    if (random_.below(8) == 0) return string();
    return one_of({R"("id")", R"("_id")", R"("docno")", R"("title")", R"("contents")", R"("text")", R"("body")",
                   R"("url")", R"("vector")", R"("\u0069d")", R"("t\u0065xt")", R"("a\nkey")", R"("")"});
  }

  std::string value(int depth) {
    switch (random_.below(depth > 4 ? 6 : 8)) {
      case 0:
        return one_of({"null", "true", "false"});
      case 1:
        return one_of({"0", "-0", "7", "1.5", "-12", "1e3", "1E+2", "0.1e-7", "123456789012345678",
                       "1234567890123456789", "18446744073709551615", "-9223372036854775808", "0.30000000000000004",
                       "100000000000000000000.5"});
      case 2:
        return random_.below(9) > 0 ? "1"
                                    : one_of({"01", "1.", ".5", "+1", "1e", "1e999", "-", "18446744073709551616", "nul",
                                              "truex", "\f", "1\"", "--1", "1-1"});
      case 6:
        return array(depth);
      case 7:
        return object(depth);
      default:
        return string();
    }
  }

  std::string array(int depth) {
    std::string text = "[" + space();
    const std::uint64_t values = random_.below(4);
    for (std::uint64_t i = 0; i < values; ++i) {
      if (i > 0) text += "," + space();
      text += (random_.below(3) > 0 ? string() : value(depth + 1)) + space();
    }
    return text + "]";
  }

  std::string string() {
    std::string text = "\"";
    for (std::uint64_t parts = random_.below(5); parts > 0; --parts) {
      text += random_.below(60) == 0
                  ? one_of({"\\ud800", "\\udc00", "\\ud83dx", "\\ud83d\\u0041", "\\x", "\\u12g4", "\x01", "\n", "\x7f"})
              : random_.below(60) == 0
                  ? one_of({"\xff", "\xc3", "\xe2\x82", "\xed\xa0\x80", "\xf0\x9f", "\x80", "\xef\xbb\xbf"})
                  : one_of({"word",
                            " some words ",
                            "\\n",
                            "\\n\\n",
                            "\\r\\n\\r\\n",
                            "\\t",
                            "\\\"",
                            "\\\\",
                            "\\/",
                            "\\u00e9",
                            "\\ud83d\\ude00",
                            "caf\xc3\xa9",
                            "\xe2\x82\xac",
                            "\xf0\x9f\x98\x80",
                            "\\u0000",
                            "\\u001e",
                            "\\b\\f",
                            "{}[]:,",
                            "http://a.example/x",
                            "\\u2028"});
    }
    return text + "\"";
  }

  RandomBits random_;
};

/// Replaces what JSON allows but the other reader doesn't: numbers beyond its range and lone surrogates.
std::string within_limits(std::string text) {
  static const std::regex digits("[1-9][0-9]{17,}"), exponent("([0-9][eE][+-]?)[0-9]{3,}"),
      surrogate(R"((\\u)[dD][89a-fA-F][0-9a-fA-F]{2})");
  text = std::regex_replace(text, digits, "1");
  text = std::regex_replace(text, exponent, "$011");
  return std::regex_replace(text, surrogate, "$010041");
}

/// Whether another reader of JSON accepts the record, with its UTF-8 repaired.
bool is_object(const std::string& full_record) {
  const std::string record = within_limits(full_record);
  simdjson::dom::parser parser;
  simdjson::error_code error = parser.parse(record).get_object().error();
  std::string repaired;
  if (error == simdjson::UTF8_ERROR) {
    repair_utf8(record, repaired);
    error = parser.parse(repaired).get_object().error();
  }
  return error == simdjson::SUCCESS;
}

bool is_damaged(const Parsed& parsed) { return parsed.result.reason.starts_with("it is not a JSON object"); }

void check_same(const std::string& record, std::optional<ImpactSettings> impacts = {}) {
  const Parsed whole = parse_record(json, record, 1 << 20, impacts);
  if (is_damaged(whole) == is_object(record)) FAIL(record << ": " << whole.result.reason);
  for (const std::size_t piece_bytes : {1, 2, 3, 5, 7, 64, 100000}) {
    const Parsed in_pieces = parse_in_pieces(json, record, piece_bytes, 1 << 20, impacts);
    if (same_record(whole, in_pieces)) continue;
    INFO(record);
    INFO("pieces of " << piece_bytes << ": " << in_pieces.result.reason << "; whole: " << whole.result.reason);
    CHECK(false);
    return;
  }
}

}  // namespace

TEST_CASE("Objects give the same document in pieces and as a whole", "[format][json][property]") {
  RandomJson random(2718);
  std::size_t documents = 0;
  for (int i = 0; i < 2500; ++i) {
    const std::string record = random.object();
    documents += parse_record(json, record).result.kind == RecordKind::document;
    check_same(record);
    check_same(random.damaged(record));
  }
  CHECK(documents > 700);
}

TEST_CASE("Weights of terms are the same in pieces and as a whole", "[format][json][impacts][property]") {
  RandomJson random(31415);
  const ImpactSettings settings{8, 10.0};
  for (int i = 0; i < 1500; ++i) {
    const std::string record = random.object();
    check_same(record, settings);
    check_same(random.damaged(record), settings);
  }
  std::string vector;
  for (int i = 0; i < 70000; ++i)
    vector += (i > 0 ? ", \"t" : "\"t") + std::to_string(i) + "\": " + std::to_string(i % 20 + 1);
  for (const std::string end : {"}}", ", \"t69999\": 2}}", ", \"t3\": 2}}", ", \"\": 2}}", ", \"a\": -2}}"})
    CHECK(same_record(parse_record(json, "{\"id\": 1, \"vector\": {" + vector + end, 1 << 20, settings),
                      parse_in_pieces(json, "{\"id\": 1, \"vector\": {" + vector + end, 1000, 1 << 20, settings)));
  CHECK(parse_in_pieces(json, "{\"id\": 1, \"vector\": {" + vector + "}}", 1000, 1 << 20, settings).weights.size() ==
        70000);
}

TEST_CASE("The depth limit is the same in pieces and as a whole", "[format][json]") {
  for (const int levels : {1020, 1021, 1022, 1023, 1024, 1025}) {
    for (const std::string innermost : {"", "1", "[]", "{}"}) {
      for (const bool arrays : {true, false}) {
        std::string record = "{\"id\": 1, \"x\": ";
        for (int i = 0; i < levels; ++i) record += arrays ? "[" : "{\"\":";
        record += innermost.empty() && !arrays ? "0" : innermost;
        for (int i = 0; i < levels; ++i) record += arrays ? "]" : "}";
        INFO(levels << " levels around '" << innermost << "'");
        CHECK(is_damaged(parse_record(json, record + "}")) != is_object(record + "}"));
        CHECK(same_record(parse_record(json, record + "}"), parse_in_pieces(json, record + "}", 100)));
      }
    }
  }
  CHECK(why_bad(json, "{\"id\": " + std::string(1000000, '[')) != "");
  CHECK(parse_in_pieces(json, "{\"id\": " + std::string(1000000, '['), 1000).result.kind == RecordKind::bad);
}

TEST_CASE("Long docnos, URLs and numbers are the same in pieces and as a whole", "[format][json]") {
  for (const std::size_t size : {65535, 65536, 70000}) {
    const std::string name(size, 'n'), blanks(100000, ' ');
    check_same("{\"id\": \"" + name + "\"}");
    check_same("{\"id\": \"" + blanks + name + blanks + "\"}");
    check_same("{\"id\": \"a" + blanks + "b\"}");
    check_same("{\"id\": 1, \"url\": \"" + blanks + name + "\\n\"}");
    check_same("{\"id\": 1, \"" + name + "\": 1, \"url\": \"" + name + "\"}");
  }
  for (const std::size_t digits : {17, 18, 19, 20, 21, 50, 300, 400, 1000}) {
    check_same("{\"id\": " + std::string(digits, '9') + "}");
    check_same("{\"id\": 1, \"x\": 0." + std::string(digits, '9') + "}");
    check_same("{\"id\": 1, \"x\": -" + std::string(digits, '9') + ".5}");
    check_same("{\"id\": 0." + std::string(digits, '3') + "e-5}");
  }
}

TEST_CASE("A document without a known text is indexed whole, and names its keys", "[format][json]") {
  std::string body;
  const auto remark = [&body](const std::string& record) {
    const Parsed parsed = parse_record(json, record), in_pieces = parse_in_pieces(json, record, 3);
    CHECK(same_record(parsed, in_pieces));
    CHECK(in_pieces.result.remark == parsed.result.remark);
    body = parsed.document.body;
    return parsed.result.remark;
  };
  const std::string start = "it has no text under contents, text, content or body; its ";
  const std::string hint = "; " + std::string(option_name<"impacts">) + " N indexes the weights of a vector";
  CHECK(remark(R"({"id": 1, "vector": {"a": 1.5}, "foo": "bar", "none": null})") ==
        start + "keys 'vector', 'foo' are indexed instead" + hint);
  CHECK(body == "bar");
  CHECK(remark(R"({"id": 1, "title": "t", "abstract\n": "b"})") == start + "key 'abstract?' is indexed instead");
  CHECK(body == "b");
  CHECK(remark(R"({"id": 1, "vector": {"a": 1.5}, "year": 1999})") ==
        start + "keys 'vector', 'year' are ignored" + hint);
  CHECK(body.empty());
  CHECK(
      remark(R"({"id": 1, "doc": {"parts": ["a", {"name": "b"}, 7, [["c"]], {}]}, "url": "u", "passage": "d\n\ne"})") ==
      start + "keys 'doc', 'passage' are indexed instead");
  CHECK(body == "a|b|c|d|e");
  CHECK(remark(R"({"id": 1, "vector": [1], "text": "t"})") == "");
  CHECK(remark(R"({"id": 1, "docid": 2, "title": "t", "text": null})") == "");
  const std::string long_name = std::string(39, 'x') + "\xc3\xa9";
  CHECK(remark("{\"id\": 1, \"" + long_name + "\": 1, \"b\": 1, \"c\": 1, \"d\": 1, \"e\": 1, \"f\": 1}") ==
        start + "keys '" + std::string(39, 'x') + "...', 'b', 'c', 'd' and others are ignored");
}
