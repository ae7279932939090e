#include <filesystem>
#include <string>
#include <vector>

#include "quern/formats/corpus/corpus_format.hpp"

#include "../corpus/record_cutting.hpp"
#include "catch.hpp"

using namespace quern;
using namespace quern::testing;

namespace {

const CorpusFormat& jsonl = jsonl_format;

}  // namespace

TEST_CASE("The worked example of jsonl.md gives what the page says", "[format]") {
  const std::string file =
      "{\"_id\": \"MILL-1\", \"title\": \"Flour\", \"text\": \"Two stones.\\n\\nOne lies \\u0073till.\"}\n"
      "{\"id\": 7, \"contents\": \"A wheel\", \"url\": \"http://mill.example/wheel\"}\n";
  CHECK(jsonl.detect(file));
  const std::vector<std::string> records = record_texts(jsonl, file);
  REQUIRE(records.size() == 2);
  const PlainDocument first = parsed_document(jsonl, records[0]);
  CHECK(first.docno == "MILL-1");
  CHECK(first.title == "Flour");
  CHECK(first.body == "Two stones.|One lies still.");
  CHECK(first.url.empty());
  const PlainDocument second = parsed_document(jsonl, records[1]);
  CHECK(second.docno == "7");
  CHECK(second.body == "A wheel");
  CHECK(second.url == "http://mill.example/wheel");
}

TEST_CASE("JSONL is recognized by an object, or an array of objects", "[format]") {
  CHECK(jsonl.detect("\xEF\xBB\xBF\n{ \"id\": 1}"));
  CHECK(jsonl.detect("[\n {\"id\": 1}"));
  CHECK_FALSE(jsonl.detect("[1, 2]"));
  CHECK_FALSE(jsonl.detect("{braces}"));
  CHECK_FALSE(jsonl.detect(""));
}

TEST_CASE("Objects may be one per line, on several lines, or in an array", "[format]") {
  const std::string a = "{\"id\": \"a}{\\\"\", \"x\": [{\"y\": {}}]}";
  const std::string b = "{\n \"id\":\n  \"b\",\n \"x\": [\n  {\n  },\n  {}\n ],\n \"z\":\n {}\n}";
  const std::vector<std::string> both = {a, b};
  CHECK(record_texts(jsonl, a + "\n" + b + "\n") == both);
  CHECK(record_texts(jsonl, a + b) == both);
  CHECK(record_texts(jsonl, "[" + a + ",\n" + b + "]\n") == both);
  CHECK(record_texts(jsonl, "\xEF\xBB\xBF[\n]\n" + a + "\r\n\r\n" + b) == both);
  CHECK(record_texts(jsonl, "[]").empty());
}

TEST_CASE("A damaged object does not affect the next", "[format]") {
  const std::string good = "{\"id\": \"good\", \"text\": \"t\"}";
  for (const std::string bad :
       {"{\"id\": \"a\", \"text\": \"unclosed", "{\"id\": \"a\", \"text\": \"t\"", "{\"id\": \"a\", \"text\": \"\\",
        "{\"id\": \"a\",", "{\"id\": [1, {\"x\": \"y\"}", "{"}) {
    const std::string file = bad + "\n" + good + "\n" + good + "\n";
    const std::vector<std::string> records = record_texts(jsonl, file);
    INFO(file);
    CHECK(records == std::vector<std::string>{bad + "\n", good, good});
    CHECK_FALSE(why_bad(jsonl, records[0]).empty());
  }
}

TEST_CASE("A line that is not an object is reported and skipped", "[format]") {
  const std::string good = "{\"id\": \"good\"}";
  const std::string file = good + "}\nnot {\"id\": 1}\n" + good;
  const std::vector<Piece> pieces = cut_records(jsonl, file, file.size());
  REQUIRE(pieces.size() == 4);
  CHECK(pieces[0].text == good);
  CHECK(pieces[1].offset == good.size());
  CHECK(pieces[1].reason.find("no JSON object") == 0);
  CHECK(pieces[2].offset == good.size() + 2);
  CHECK(pieces[3].text == good);
}

TEST_CASE("Brackets and commas that belong to no array are reported once, and skipped", "[format]") {
  const std::string good = "{\"id\": \"good\"}";
  const std::string arrays = "[" + good + ",\n" + good + "]\n[" + good + "]\n[]" + good + ",\n" + good;
  CHECK(record_texts(jsonl, arrays) == std::vector<std::string>(5, good));
  for (const std::string junk : {" ]]],,\n", "]\n", ",,", "\n,\n,", "[[", "[],", "[ [\n"}) {
    const std::string file = good + junk + good;
    for (std::size_t step = 1; step <= file.size(); ++step) {
      INFO(file << ", step " << step);
      const std::vector<Piece> pieces = cut_records(jsonl, file, step);
      REQUIRE(pieces.size() == 3);
      CHECK(pieces[0].text == good);
      CHECK(pieces[1].offset >= good.size());
      CHECK(pieces[1].reason.find("a stray bracket or comma") == 0);
      CHECK(pieces[2].text == good);
    }
  }
  CHECK(cut_records(jsonl, good + " ]]],,\n", 99)[1].offset == good.size() + 1);
}

TEST_CASE("The docno is a string or a number under one of its keys", "[format]") {
  CHECK(parsed_document(jsonl, "{\"docno\": \"a b\"}").docno == "a b");
  CHECK(parsed_document(jsonl, "{\"docid\": -5}").docno == "-5");
  CHECK(parsed_document(jsonl, "{\"id\": 18446744073709551615}").docno == "18446744073709551615");
  CHECK(parsed_document(jsonl, "{\"id\": 1.5}").docno == "1.5");
  CHECK(parsed_document(jsonl, "{\"_id\": \"b\", \"id\": \"a\"}").docno == "a");
  CHECK(parsed_document(jsonl, "{\"id\": null, \"_id\": \"b\"}").docno == "b");
  CHECK(why_bad(jsonl, "{\"title\": \"t\"}").find("_id") != std::string::npos);
  CHECK_FALSE(why_bad(jsonl, "{\"id\": {}}").empty());
  CHECK_FALSE(why_bad(jsonl, "{\"id\": \"\"}").empty());
  CHECK_FALSE(why_bad(jsonl, "{\"id\": \"a\\nb\"}").empty());
  const std::string longest(65535, 'n');
  CHECK(parsed_document(jsonl, "{\"id\": \"" + longest + "\"}").docno == longest);
  CHECK_FALSE(why_bad(jsonl, "{\"id\": \"n" + longest + "\"}").empty());
}

TEST_CASE("Numbers that nothing reads may be of any size, or Python's NaN and Infinity", "[format][reports]") {
  for (const std::string number :
       {"18446744073709551616", "340282366920938463463374607431768211455", "-9223372036854775809", "1e400", "-1e400",
        "0.1234567890123456789012345678901234567890", "NaN", "Infinity", "-Infinity", "[NaN, {\"x\": 1e400}]"}) {
    INFO(number);
    CHECK(parsed_document(jsonl, "{\"x\": " + number + ", \"id\": \"a\", \"text\": \"mill\"}").body == "mill");
    CHECK(parsed_document(jsonl, "{\"id\": \"a\", \"text\": \"mill\", \"x\": " + number + "}").body == "mill");
  }
  for (const std::string wrong : {"nan", "-NaN", "+Infinity", "Inf", "NaNs", "Infinity1"})
    CHECK(why_bad(jsonl, "{\"id\": \"a\", \"x\": " + wrong + "}").find("is not a valid number") != std::string::npos);
}

TEST_CASE("NaN and numbers beyond a double's range are named where their value is needed", "[format][reports]") {
  CHECK(parsed_document(jsonl, "{\"id\": 340282366920938463463374607431768211455}").docno ==
        "340282366920938463463374607431768211455");
  CHECK(parsed_document(jsonl, "{\"_id\": NaN, \"id\": \"a\"}").docno == "a");
  for (const std::string number : {"NaN", "-Infinity", "1e400"}) {
    CHECK(why_bad(jsonl, "{\"id\": " + number + "}") == "its docno is not a finite number");
    const std::string with_weight = "{\"id\": 1, \"vector\": {\"a\": " + number + "}}";
    const Parsed parsed = parse_record(jsonl, with_weight, 1 << 20, ImpactSettings{8});
    CHECK(parsed.result.reason.find("weights must be finite") != std::string::npos);
    CHECK_FALSE(parsed.result.needs_options);
    FieldNames names;
    names.kept = {"year"};
    CHECK(parse_record(jsonl, "{\"id\": 1, \"year\": " + number + "}", 1 << 20, {}, names).result.reason ==
          "its field 'year' is not a finite number");
  }
  CHECK(why_bad(jsonl, "{\"id\": 1, \"text\": NaN}").starts_with("its key 'text' holds NaN"));
  CHECK(why_bad(jsonl, "{\"id\": 1, \"title\": [\"a\", NaN]}").starts_with("its key 'title' holds NaN"));
}

TEST_CASE("Text that is not a string is refused with its key and a remedy", "[format][reports]") {
  const auto complaint = [](std::string_view value, std::string_view key, std::string_view option) {
    return "its key '" + std::string(key) + "' holds " + std::string(value) +
           " where a string should be; convert the value to a string or an array of strings, or name another key "
           "with " +
           std::string(option);
  };
  const std::string_view text_option = option_name<"text-field">;
  // TREC's Washington Post
  CHECK(why_bad(jsonl, R"({"id": "a", "contents": [{"content": "Colleges", "type": "kicker"}, null]})") ==
        complaint("an object", "contents", text_option));
  CHECK(why_bad(jsonl, R"({"id": "a", "body": 1, "text": {"en": "water", "de": "Wasser"}})") ==
        complaint("an object", "text", text_option));
  CHECK(why_bad(jsonl, R"({"id": "a", "text": [["a"]]})") == complaint("an array", "text", text_option));
  CHECK(why_bad(jsonl, R"({"id": "a", "text": 1})") == complaint("a number", "text", text_option));
  CHECK(why_bad(jsonl, R"({"id": "a", "title": [true]})") ==
        complaint("a boolean", "title", option_name<"title-field">));
}

TEST_CASE("Half a surrogate pair is repaired and counted in text, and ignored elsewhere", "[format][reports]") {
  RecordScratch scratch;
  DocumentText text;
  CHECK(jsonl
            .parse(R"({"id": 1, "x": "\ud800", "text": "a\ud83d\ude00 \ud800\n\udc00\ud83db\ud83d\ud83d\ude00\ud83d"})",
                   scratch, text)
            .kind == RecordKind::document);
  CHECK(text.body.str() == "a\U0001F600 \uFFFD\n\uFFFD\uFFFDb\uFFFD\U0001F600\uFFFD");
  CHECK(scratch.repaired_utf8 == 5);
}

TEST_CASE("Text is one or several plain strings under one of its keys", "[format]") {
  CHECK(parsed_document(jsonl, "{\"id\": 1, \"contents\": \"1 < 2 <b> &amp;\"}").body == "1 < 2 <b> &amp;");
  CHECK(parsed_document(jsonl, "{\"id\": 1, \"content\": [\"a\", \"b\"]}").body == "a|b");
  CHECK(parsed_document(jsonl, "{\"id\": 1, \"body\": \"x\", \"text\": \"t\"}").body == "t");
  CHECK(parsed_document(jsonl, "{\"id\": 1, \"text\": null, \"title\": null}").body.empty());
  CHECK(parsed_document(jsonl, "{\"id\": 1, \"text\": \"a\\u0000\\u001eb\"}").body == "a  b");
  CHECK_FALSE(why_bad(jsonl, "{\"id\": 1, \"text\": 5}").empty());
  CHECK_FALSE(why_bad(jsonl, "{\"id\": 1, \"title\": {}}").empty());
}

TEST_CASE("Fields may have other keys, which then belong to no other field", "[format][pieces]") {
  const auto parse = [](const FieldNames& names, const std::string& record) {
    Spool spool(std::filesystem::temp_directory_path().string());
    spool.append(as_bytes(record));
    std::vector<Parsed> ways;
    for (const RecordText& text : {RecordText(record), RecordText(spool, 5)}) {
      RecordScratch scratch;
      scratch.json_keys = JsonKeys(names);
      Parsed& parsed = ways.emplace_back();
      DocumentText document;
      parsed.result = jsonl.parse(text, scratch, document);
      parsed.document = PlainDocument(document);
    }
    CHECK(same_record(ways[0], ways[1]));
    return ways[0];
  };
  const std::string line =
      "{\"docid\": \"D1\", \"pid\": \"D1_0\", \"text\": \"t\", \"passage\": \"Two stones.\", \"title\": \"Flour\"}";
  const Parsed passage = parse({"pid", "", "passage", ""}, line);
  CHECK(passage.document.docno == "D1_0");
  CHECK(passage.document.body == "Two stones.");
  CHECK(passage.document.title == "Flour");
  // A title equal to the text isn't a title.
  const Parsed title = parse({"", "", "title", ""}, line);
  CHECK(title.document.docno == "D1");
  CHECK(title.document.body == "Flour");
  CHECK(title.document.title.empty());
  const std::string long_name(100, 'k');
  const Parsed other =
      parse({"", long_name, "", "text"}, "{\"id\": 1, \"" + long_name + "\": \"T\", \"text\": \"http://a/\"}");
  CHECK(other.document.title == "T");
  CHECK(other.document.url == "http://a/");
  CHECK(other.document.body.empty());
  CHECK_THROWS_AS(JsonKeys({"a", "", "a", ""}), InvalidArgument);
  CHECK(parse({"pid", "", "", ""}, "{\"id\": 1}").result.reason ==
        "it has no docno: no key pid; its key 'id' is ignored; specify the docno's key with " +
            std::string(option_name<"id-field">));
  CHECK(parse({"", "", "words", ""}, "{\"id\": 1, \"text\": \"t\"}").result.remark ==
        "it has no text under words; its key 'text' is indexed instead");
}

TEST_CASE("The weights of terms may have another key", "[format][pieces][impacts]") {
  using Weights = std::vector<std::pair<std::string, std::uint32_t>>;
  const auto parse = [](const FieldNames& names, const std::string& record) {
    Spool spool(std::filesystem::temp_directory_path().string());
    spool.append(as_bytes(record));
    std::vector<Parsed> ways;
    for (const RecordText& text : {RecordText(record), RecordText(spool, 5)})
      ways.push_back(parse_record(jsonl, text, 1 << 20, ImpactSettings{8}, names));
    CHECK(same_record(ways[0], ways[1]));
    CHECK(ways[0].weights == ways[1].weights);
    return ways[0];
  };
  const std::string line = "{\"id\": 1, \"vector\": {\"a\": 1}, \"splade\": {\"b\": 2}, \"text\": \"t\"}";
  CHECK(parse({}, line).weights == Weights{{"a", 1}});
  FieldNames names;
  names.vector = "splade";
  CHECK(parse(names, line).weights == Weights{{"b", 2}});
  names.text = "vector";
  CHECK(parse(names, "{\"id\": 1, \"vector\": \"v\", \"splade\": {\"b\": 2}}").document.body == "v");
  names.vector = "other";
  const std::string reason = parse(names, "{\"id\": 1, \"other\": null}").result.reason;
  CHECK(reason.find("under the key other") != reason.npos);
  names.vector = "vector";
  CHECK_THROWS_AS(JsonKeys(names, true), InvalidArgument);
  names.vector.clear();
  CHECK_THROWS_AS(JsonKeys(names, true), InvalidArgument);
  CHECK_NOTHROW(JsonKeys(names, false));
}

TEST_CASE("Invalid UTF-8 in JSONL is repaired and counted", "[format]") {
  RecordScratch scratch;
  DocumentText text;
  CHECK(jsonl.parse("{\"id\": 1, \"text\": \"caf\xE9!\"}", scratch, text).kind == RecordKind::document);
  CHECK(text.body.str() == "caf\uFFFD!");
  CHECK(scratch.repaired_utf8 == 1);
}

TEST_CASE("JSONL is cut into the same records however its bytes arrive", "[format][property]") {
  std::string file = "[";
  for (int i = 0; i < 40; ++i) {
    file +=
        "{\"id\": \"" + std::string(static_cast<std::size_t>(i * 7 % 60), '\\') + "\\\"{}\", \"x\": [{}, {\"y\":\n{}}]";
    file += i % 3 == 0 ? "\n" : i % 5 == 0 ? "}}\n" : "},\n";
  }
  for (const std::uint64_t max_record_bytes : {std::uint64_t{50}, std::uint64_t{1} << 20}) {
    const std::vector<Piece> whole = cut_records(jsonl, file, file.size(), {max_record_bytes});
    CHECK(whole.size() >= 40);
    for (std::size_t step = 1; step < 50; ++step) {
      INFO("step " << step << ", at most " << max_record_bytes);
      CHECK(cut_records(jsonl, file, step, {max_record_bytes}) == whole);
    }
  }
}

TEST_CASE("Deep nesting is an error, not a crash", "[format]") {
  const std::string deep = "{\"id\": " + std::string(1000000, '[');
  CHECK(record_texts(jsonl, deep).size() == 1);
  CHECK_FALSE(why_bad(jsonl, deep).empty());
}
