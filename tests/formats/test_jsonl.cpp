#include <string>

#include "quern/formats/jsonl.hpp"

#include "../corpus/record_cutting.hpp"
#include "catch.hpp"

using namespace quern;
using quern::testing::cut_records;
using quern::testing::parse_record;
using quern::testing::Parsed;
using quern::testing::Piece;
using quern::testing::record_texts;

namespace {

const CorpusFormat& format = jsonl_format();

DocumentText document(std::string_view record) {
  const Parsed parsed = parse_record(format, record);
  INFO(record << ": " << parsed.result.reason);
  REQUIRE(parsed.result.kind == RecordKind::document);
  return parsed.document;
}

std::string why_bad(std::string_view record) {
  const Parsed parsed = parse_record(format, record);
  return parsed.result.kind == RecordKind::bad ? parsed.result.reason : "";
}

}  // namespace

TEST_CASE("The worked example of jsonl.md reads as the page says", "[format]") {
  const std::string file =
      "{\"_id\": \"MILL-1\", \"title\": \"Flour\", \"text\": \"Two stones.\\n\\nOne lies \\u0073till.\"}\n"
      "{\"id\": 7, \"contents\": \"A wheel\", \"url\": \"http://mill.example/wheel\"}\n";
  CHECK(format.detect(file));
  const std::vector<std::string> records = record_texts(format, file);
  REQUIRE(records.size() == 2);
  const DocumentText first = document(records[0]);
  CHECK(first.docno == "MILL-1");
  CHECK(first.title == "Flour");
  CHECK(first.body == "Two stones.|One lies still.");
  CHECK(first.url.empty());
  const DocumentText second = document(records[1]);
  CHECK(second.docno == "7");
  CHECK(second.body == "A wheel");
  CHECK(second.url == "http://mill.example/wheel");
}

TEST_CASE("JSONL is told by an object, or an array of objects", "[format]") {
  CHECK(format.detect("\xEF\xBB\xBF\n{ \"id\": 1}"));
  CHECK(format.detect("[\n {\"id\": 1}"));
  CHECK_FALSE(format.detect("[1, 2]"));
  CHECK_FALSE(format.detect("{braces}"));
  CHECK_FALSE(format.detect(""));
}

TEST_CASE("Objects are one a line, over several lines, or in an array", "[format]") {
  const std::string a = "{\"id\": \"a}{\\\"\", \"x\": [{\"y\": {}}]}";
  const std::string b = "{\n \"id\":\n  \"b\",\n \"x\": [\n  {\n  },\n  {}\n ],\n \"z\":\n {}\n}";
  const std::vector<std::string> both = {a, b};
  CHECK(record_texts(format, a + "\n" + b + "\n") == both);
  CHECK(record_texts(format, a + b) == both);
  CHECK(record_texts(format, "[" + a + ",\n" + b + "]\n") == both);
  CHECK(record_texts(format, "\xEF\xBB\xBF[\n]\n" + a + "\r\n\r\n" + b) == both);
  CHECK(record_texts(format, "[]").empty());
}

TEST_CASE("A damaged object doesn't take the next along", "[format]") {
  const std::string good = "{\"id\": \"good\", \"text\": \"t\"}";
  for (const std::string bad :
       {"{\"id\": \"a\", \"text\": \"unclosed", "{\"id\": \"a\", \"text\": \"t\"", "{\"id\": \"a\", \"text\": \"\\",
        "{\"id\": \"a\",", "{\"id\": [1, {\"x\": \"y\"}", "{"}) {
    const std::string file = bad + "\n" + good + "\n" + good + "\n";
    const std::vector<std::string> records = record_texts(format, file);
    INFO(file);
    CHECK(records == std::vector<std::string>{bad + "\n", good, good});
    CHECK_FALSE(why_bad(records[0]).empty());
  }
}

TEST_CASE("What is no object is told once a line and passed over", "[format]") {
  const std::string good = "{\"id\": \"good\"}";
  const std::string file = good + "}\nnot {\"id\": 1}\n" + good;
  const std::vector<Piece> pieces = cut_records(format, file, file.size());
  REQUIRE(pieces.size() == 4);
  CHECK(pieces[0].text == good);
  CHECK(pieces[1].offset == good.size());
  CHECK(pieces[1].reason.find("no JSON object") == 0);
  CHECK(pieces[2].offset == good.size() + 2);
  CHECK(pieces[3].text == good);
}

TEST_CASE("The docno is a string or a number under one of its keys", "[format]") {
  CHECK(document("{\"docno\": \"a b\"}").docno == "a b");
  CHECK(document("{\"docid\": -5}").docno == "-5");
  CHECK(document("{\"id\": 18446744073709551615}").docno == "18446744073709551615");
  CHECK(document("{\"id\": 1.5}").docno == "1.5");
  CHECK(document("{\"_id\": \"b\", \"id\": \"a\"}").docno == "a");
  CHECK(document("{\"id\": null, \"_id\": \"b\"}").docno == "b");
  CHECK(why_bad("{\"title\": \"t\"}").find("_id") != std::string::npos);
  CHECK_FALSE(why_bad("{\"id\": {}}").empty());
  CHECK_FALSE(why_bad("{\"id\": \"\"}").empty());
  CHECK_FALSE(why_bad("{\"id\": \"a\\nb\"}").empty());
  const std::string longest(65535, 'n');
  CHECK(document("{\"id\": \"" + longest + "\"}").docno == longest);
  CHECK_FALSE(why_bad("{\"id\": \"n" + longest + "\"}").empty());
}

TEST_CASE("Text is plain, a string or several, under one of its keys", "[format]") {
  CHECK(document("{\"id\": 1, \"contents\": \"1 < 2 <b> &amp;\"}").body == "1 < 2 <b> &amp;");
  CHECK(document("{\"id\": 1, \"content\": [\"a\", \"b\"]}").body == "a|b");
  CHECK(document("{\"id\": 1, \"body\": \"x\", \"text\": \"t\"}").body == "t");
  CHECK(document("{\"id\": 1, \"text\": null, \"title\": null}").body.empty());
  CHECK(document("{\"id\": 1, \"text\": \"a\\u0000\\u001eb\"}").body == "a  b");
  CHECK_FALSE(why_bad("{\"id\": 1, \"text\": 5}").empty());
  CHECK_FALSE(why_bad("{\"id\": 1, \"title\": {}}").empty());
}

TEST_CASE("Invalid UTF-8 in JSONL is repaired and counted", "[format]") {
  RecordScratch scratch;
  DocumentText text;
  CHECK(format.parse("{\"id\": 1, \"text\": \"caf\xE9!\"}", scratch, text).kind == RecordKind::document);
  CHECK(text.body == "caf\uFFFD!");
  CHECK(scratch.repaired_utf8 == 1);
}

TEST_CASE("JSONL is cut the same however its bytes come", "[format][property]") {
  std::string file = "[";
  for (int i = 0; i < 40; ++i) {
    file +=
        "{\"id\": \"" + std::string(static_cast<std::size_t>(i * 7 % 60), '\\') + "\\\"{}\", \"x\": [{}, {\"y\":\n{}}]";
    file += i % 3 == 0 ? "\n" : i % 5 == 0 ? "}}\n" : "},\n";
  }
  for (const std::uint64_t max_record_bytes : {std::uint64_t{50}, std::uint64_t{1} << 20}) {
    const std::vector<Piece> whole = cut_records(format, file, file.size(), max_record_bytes);
    CHECK(whole.size() >= 40);
    for (std::size_t step = 1; step < 50; ++step) {
      INFO("step " << step << ", at most " << max_record_bytes);
      CHECK(cut_records(format, file, step, max_record_bytes) == whole);
    }
  }
}

TEST_CASE("Deep nesting is an error, not a crash", "[format]") {
  const std::string deep = "{\"id\": " + std::string(1000000, '[');
  CHECK(record_texts(format, deep).size() == 1);
  CHECK_FALSE(why_bad(deep).empty());
}
