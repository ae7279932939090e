#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "quern/core/error.hpp"
#include "quern/formats/queries/query_file.hpp"

#include "catch.hpp"

using quern::CorruptFile;
using quern::InvalidArgument;
using quern::parse_queries;
using quern::Query;
using quern::QueryFile;
using quern::QueryFormat;

namespace {

using Queries = std::vector<Query>;

QueryFile automatic(std::string_view bytes) { return parse_queries(bytes, QueryFormat::automatic, "test.queries"); }

/// The reader's error message for a file; empty if it accepts the file.
std::string complaint(std::string_view bytes, QueryFormat format = QueryFormat::automatic) {
  try {
    parse_queries(bytes, format, "test.queries");
  } catch (const quern::Error& error) {
    return error.what();
  }
  return {};
}

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

/// Lines "1:query", "2:query", ... with one odd line among them.
std::string log_with_odd_line(int lines, int odd, const std::string& odd_line) {
  std::string all;
  for (int i = 1; i <= lines; ++i) all += i == odd ? odd_line : std::to_string(i) + ":stone mill\n";
  return all;
}

}  // namespace

TEST_CASE("The worked examples of query_file.md give the queries that the page says", "[format][query_file]") {
  const Queries want{{"7", "water mills"}, {"12", "flour & bran"}};
  const struct {
    QueryFormat format;
    std::string_view bytes;
  } examples[] = {
      {QueryFormat::trec,
       "<top>\n<num> Number: 7\n<title> Topic: water\n  mills\n<desc> Description:\nMills on rivers.\n</top>\n"
       "<top>\n<num> Number: 12\n<title> flour &amp; bran\n<narr> Narrative:\nAll of them.\n</top>\n"},
      {QueryFormat::webtrack,
       "<?xml version=\"1.0\"?>\n<topics>\n<topic number=\"7\" type=\"faceted\">\n  <query>water mills</query>\n"
       "  <subtopic number=\"1\">Where?</subtopic>\n</topic>\n"
       "<topic number=\"12\"><query>flour &amp; bran</query></topic>\n</topics>\n"},
      {QueryFormat::jsonl, "{\"_id\": \"7\", \"text\": \"water mills\"}\n{\"_id\": 12, \"text\": \"flour & bran\"}\n"},
      {QueryFormat::tsv, "7\twater mills\n12\tflour & bran\n"},
      {QueryFormat::weighted, "7:1:water mills\n12:4:flour & bran\n"},
      {QueryFormat::colon, "7:water mills\n12:flour & bran\n"},
  };
  for (const auto& [format, bytes] : examples) {
    INFO(bytes);
    const QueryFile found = automatic(bytes);
    CHECK(found.format == format);
    CHECK(found.queries == want);
    CHECK(parse_queries(bytes, format, "test.queries").queries == want);
  }
  const QueryFile lines = automatic("water mills\n\nflour & bran\n");
  CHECK(lines.format == QueryFormat::lines);
  CHECK(lines.queries == Queries{{"1", "water mills"}, {"2", "flour & bran"}});
}

TEST_CASE("All query formats have names, auto first", "[format][query_file]") {
  const std::vector<std::string> names = quern::names_of(quern::query_formats);
  CHECK(names ==
        std::vector<std::string>{"auto", "trec", "webtrack", "jsonl", "tsv", "weighted", "colon", "lines", "vector"});
  CHECK(quern::names_of(quern::text_query_formats) == std::vector<std::string>(names.begin(), names.end() - 1));
}

TEST_CASE("The text of a query of terms with weights is their JSON object", "[format][query_file][impacts]") {
  using quern::parse_query_vector;
  const auto queries = parse_queries(
      "{\"id\": \"q1\", \"vector\": { \"mill\": 2, \"##e\\u0072\": 0.5 }}\n\n{\"_id\": 2, \"vector\": {}}\n",
      QueryFormat::vector, "test.queries");
  REQUIRE(queries.queries == Queries{{"q1", R"({"mill":2,"##er":0.5})"}, {"2", "{}"}});
  const std::vector<quern::QueryTerm> terms = {{"mill", 2}, {"##er", 0.5}};
  CHECK(parse_query_vector(queries.queries[0].text, "q1") == terms);
  using Catch::Contains;
  const auto refused = [](const std::string& line, const std::string& why) {
    INFO(line);
    CHECK_THROWS_WITH(parse_queries("{\"id\": 1, \"vector\": {}}\n" + line + "\n", QueryFormat::vector, "test.queries"),
                      Contains("test.queries, line 2") && Contains(why));
  };
  refused("mill", "is not a JSON object");
  refused("{\"id\": 1}", "has no \"vector\"");
  refused("{\"vector\": {}}", "has no \"_id\"");
  refused("{\"id\": 1, \"vector\": [1]}", "is not a JSON object of terms");
  refused("{\"id\": 1, \"vector\": {\"a\": -0.5}}", "'a' has the negative weight -0.5");
  refused("{\"id\": 1, \"vector\": {\"a\": \"1\"}}", "is not a number");
  refused("{\"id\": 1, \"vector\": {\"a\": 1e999}}", "is not a JSON object");
  refused("{\"id\": 1, \"vector\": {\"\": 1}}", "a term is empty");
  refused("{\"id\": 1, \"vector\": {\"a\": 1, \"b\": 2, \"a\": 1}}", "'a' occurs twice");
  // A term of two-byte letters is cut between letters.
  const std::string one = "a", letters = [] {
    std::string text;
    for (int i = 0; i < 40; ++i) text += "\u00e9";
    return text;
  }();
  refused("{\"id\": 1, \"vector\": {\"" + one + letters + "\": -1}}", "'a" + letters.substr(0, 38) + "...'");
  refused("{\"id\": 1, \"vector\": {\"" + letters + "\": {}}}", "'" + letters.substr(0, 40) + "...'");
  // Named, not found.
  CHECK_THROWS_WITH(automatic("{\"id\": 1, \"vector\": {\"a\": 1}}\n"),
                    Contains(std::string(option_name<"queries-format">) + " vector"));
}

TEST_CASE("All lines decide the format, not only the first", "[format][query_file]") {
  SECTION("a plain log whose lines often hold colons stays plain") {
    const QueryFile found = automatic("linux 2.6: how to\n1984: a novel\nmill wheels\n");
    CHECK(found.format == QueryFormat::lines);
    CHECK(found.queries[1] == Query{"2", "1984: a novel"});
  }
  SECTION("words before a colon are not ids, even if all lines have them") {
    CHECK(automatic("site:gov mills\ndefine:quern\n").format == QueryFormat::lines);
    CHECK(automatic("linux 2.6: how to\nwindows 95: what for\n").format == QueryFormat::lines);
    CHECK(automatic("http://a1.example\nhttp://b2.example\n").format == QueryFormat::lines);
  }
  SECTION("a query that repeats its id isn't a weighted log") {
    const QueryFile found = automatic("8108:mill\n8109:8109:the history\n8110:7:eleven\n");
    CHECK(found.format == QueryFormat::colon);
    CHECK(found.queries[1] == Query{"8109", "8109:the history"});
  }
  SECTION("a weight has at most three digits") {
    CHECK(automatic("1:1000:mill\n").format == QueryFormat::colon);
    CHECK(automatic("1:999:mill\n").format == QueryFormat::weighted);
  }
  SECTION("a tab in all lines makes ids, colons or not") {
    const QueryFile found = automatic("1\ttime: 12:30\nq2\t\n");
    CHECK(found.format == QueryFormat::tsv);
    CHECK(found.queries == Queries{{"1", "time: 12:30"}, {"q2", ""}});
    CHECK(automatic("1\tmill\nmill stone\tgrit\n").format == QueryFormat::lines);
  }
  SECTION("a bracket in front doesn't make topics") {
    CHECK(automatic("<3 mills\n<b> bread\n").format == QueryFormat::lines);
  }
  SECTION("a brace in front doesn't make JSON") { CHECK(automatic("{x} mills\n{\n").format == QueryFormat::lines); }
}

TEST_CASE("A log with one odd line in a hundred is refused, with the line", "[format][query_file]") {
  CHECK(complaint(log_with_odd_line(200, 150, "no id here\n")).find("line 150") != std::string::npos);
  CHECK(complaint(log_with_odd_line(200, 150, "no id here\n")).find(option_name<"queries-format">) !=
        std::string::npos);
  // Few lines say too little: the file is read as it stands.
  CHECK(automatic(log_with_odd_line(99, 50, "no id here\n")).format == QueryFormat::lines);
  CHECK(automatic(log_with_odd_line(100, 101, "")).format == QueryFormat::colon);
  CHECK(parse_queries(log_with_odd_line(200, 150, "no id\n"), QueryFormat::lines, "test.queries").queries.size() ==
        200);
}

TEST_CASE("The requested format is used, and a line that contradicts it is reported", "[format][query_file]") {
  CHECK(parse_queries("site:gov\n", QueryFormat::colon, "test.queries").queries == Queries{{"site", "gov"}});
  CHECK(parse_queries("a b\tc d\n", QueryFormat::tsv, "test.queries").queries == Queries{{"a b", "c d"}});
  CHECK(parse_queries("1:0.75:mill\n", QueryFormat::weighted, "test.queries").queries == Queries{{"1", "mill"}});
  CHECK(parse_queries("1:mill\n", QueryFormat::lines, "test.queries").queries == Queries{{"1", "1:mill"}});
  const struct {
    QueryFormat format;
    std::string_view bytes;
  } wrong[] = {
      {QueryFormat::colon, "1:a\n\nno id\n"},
      {QueryFormat::colon, "1:a\n\n: no id\n"},
      {QueryFormat::tsv, "1\ta\n\n2 b\n"},
      {QueryFormat::weighted, "1:1:a\n\n2:high:b\n"},
      {QueryFormat::jsonl, "{\"id\":1,\"text\":\"a\"}\n\nnot json\n"},
      {QueryFormat::jsonl, "{\"id\":1,\"text\":\"a\"}\n\n{\"id\":1,\"text\":\"a}\n"},
      {QueryFormat::jsonl, "{\"id\":1,\"text\":\"a\"}\n\n{\"text\":\"a\"}\n"},
      {QueryFormat::jsonl, "{\"id\":1,\"text\":\"a\"}\n\n{\"id\":1.5,\"text\":\"a\"}\n"},
      {QueryFormat::jsonl, "{\"id\":1,\"text\":\"a\"}\n\n{\"id\":1}\n"},
      {QueryFormat::trec, "<top>\n<num> 1 <title> a\n<top><title> b\n"},
      {QueryFormat::webtrack, "<topic number='1'><query>a</query></topic>\n\n<topic><query>b</query></topic>"}};
  for (const auto& [format, bytes] : wrong) {
    INFO(bytes);
    CHECK_THROWS_AS(parse_queries(bytes, format, "test.queries"), CorruptFile);
    CHECK(complaint(bytes, format).find("test.queries, line 3: ") == 0);
  }
}

TEST_CASE("Line ends, byte-order marks, blank lines and odd bytes do no harm", "[format][query_file]") {
  CHECK(automatic("\xef\xbb\xbf"
                  "1:mill\r\n\r\n 2 : stone mill \r\n")
            .queries == Queries{{"1", "mill"}, {"2", "stone mill"}});
  CHECK(automatic("\n \t \nmill").queries == Queries{{"1", "mill"}});
  CHECK(automatic("1:pi\xf1"
                  "ata\n2:\n")
            .queries == Queries{{"1",
                                 "pi\xf1"
                                 "ata"},
                                {"2", ""}});
  CHECK(automatic("5:mill\n5:mill\n").queries == Queries{{"5", "mill"}, {"5", "mill"}});
}

TEST_CASE("A file without queries or without text is refused", "[format][query_file]") {
  for (const std::string_view bytes : {"", "\n \r\n", "\xef\xbb\xbf"}) {
    CHECK_THROWS_AS(automatic(bytes), InvalidArgument);
    CHECK(complaint(bytes).find("test.queries") == 0);
  }
  CHECK_THROWS_AS(parse_queries("mills\n", QueryFormat::trec, "test.queries"), InvalidArgument);
  const std::string_view utf16(
      "\xff\xfe"
      "1\0:\0a\0",
      8);
  CHECK_THROWS_AS(automatic(utf16), CorruptFile);
}

TEST_CASE("A query of more than 1 MiB is refused, with its number", "[format][query_file]") {
  const std::string most(quern::max_query_bytes, 'x');
  CHECK(automatic("1:mill\n2:" + most + "\n").queries[1].text == most);
  CHECK(complaint("1:mill\n2:" + most + "x\n") ==
        "test.queries: query 2, with the id \"2\", is longer than 1M; is this a file of queries?");
  CHECK(complaint("<num>7<title>" + most + "x<num>8<title>mill") != "");
  CHECK(complaint(most + "x:mill\n", QueryFormat::colon).size() < 200);
  quern::QueryLineParser lines(QueryFormat::lines, "test.queries");
  CHECK(lines.next(most));
  CHECK_THROWS_AS(lines.next(most + "x"), CorruptFile);
}

TEST_CASE("Queries are visited one by one, up to a damaged line", "[format][query_file]") {
  const auto visited = [](std::string_view bytes, QueryFormat format) {
    Queries queries;
    std::string end;
    try {
      const QueryFormat found =
          quern::for_each_query(bytes, format, "test.queries", [&](std::string_view id, std::string_view text) {
            queries.push_back({std::string(id), std::string(text)});
          });
      end = quern::name_of_value(quern::query_formats, found);
    } catch (const CorruptFile&) {
      end = "damaged";
    }
    return std::pair(queries, end);
  };
  const Queries two{{"7", "mill"}, {"8", ""}};
  CHECK(visited("7:mill\n8:\n", QueryFormat::automatic) == std::pair(two, std::string("colon")));
  CHECK(visited("7:mill\n8:\nno id\n9:x\n", QueryFormat::colon) == std::pair(two, std::string("damaged")));
  CHECK(visited("{\"id\":7,\"text\":\"mill\"}\n{\"id\":8,\"text\":\" \"}\n{\"id\":9}", QueryFormat::jsonl) ==
        std::pair(two, std::string("damaged")));
  CHECK(visited("<num>7<title>mill<num>8<top><title>x", QueryFormat::automatic) ==
        std::pair(two, std::string("damaged")));
  const Queries numbered{{"1", "mill"}, {"2", "stone"}};
  CHECK(visited("mill\n\nstone", QueryFormat::automatic) == std::pair(numbered, std::string("lines")));
}

TEST_CASE("TREC topics of all years are read", "[format][query_file]") {
  SECTION("the older form, with labels, other fields and leading zeros") {
    const QueryFile found = automatic(
        "<top>\n\n<head> Tipster Topic Description\n\n<num> Number:  051\n\n<dom> Domain: Economics\n\n"
        "<title> Topic:  Airbus Subsidies\n\n<desc> Description:\n\nText.\n\n<fac> Factor(s):\n<nat> U.S.\n</fac>\n"
        "<def> Definition(s):\n</top>\n");
    CHECK(found.format == QueryFormat::trec);
    CHECK(found.queries == Queries{{"051", "Airbus Subsidies"}});
  }
  SECTION("titles on the next line, tags in capitals, tags closed") {
    const Queries want{{"1", "water mills in Norfolk"}};
    CHECK(automatic("<top>\n<num> Number: 1\n<title>\nwater mills\nin Norfolk\n\n<desc>\nx\n</top>").queries == want);
    CHECK(automatic("<TOP><NUM>1</NUM><TITLE>water mills in Norfolk</TITLE></TOP>").queries == want);
    CHECK(automatic("<top lang='en'><num>1<title>water <!-- not --> mills in Norfolk").queries == want);
  }
  SECTION("tops that are never closed, or not even opened") {
    const Queries want{{"1", "a"}, {"2", "b"}};
    CHECK(automatic("<top><num> 1 <title> a\n<top><num> 2 <title> b\n").queries == want);
    CHECK(automatic("<num> 1 <title> a\n<num> 2 <title> b\n").queries == want);
  }
  SECTION("a file that is cut off within its last topic") {
    const std::string closed = "<top><num> 1 <title> a</top>\n";
    for (const char* rest : {"<top>", "<top><num> 2", "<top><num> 2 <tit", "<top><num> 2 <title> b\n"})
      CHECK(complaint("\n" + closed + rest).find("test.queries, line 3: the topic that begins here has no </top>") ==
            0);
    CHECK(complaint("<topics><topic number='1'><query>a</query></topic>\n<topic number='2'><query>b</query>")
              .find("test.queries, line 2: the topic that begins here has no </topic>") == 0);
    CHECK(automatic(closed + "</tops>").queries == Queries{{"1", "a"}});
  }
  SECTION("without a title the description is the query; an empty title stays empty") {
    CHECK(automatic("<top><num> 201\n<desc> Description:\nIs milling paid?\n</top>").queries ==
          Queries{{"201", "Is milling paid?"}});
    CHECK(automatic("<top><num> 201 <title>\n<desc> Is milling paid?</top>").queries == Queries{{"201", ""}});
    CHECK(automatic("<top><num> 201 </top>").queries == Queries{{"201", ""}});
  }
  SECTION("what is only like a tag or a reference is text") {
    CHECK(automatic("<num>1<title>a < b <3 AT&T &unknown; &amp;lt; &#39;x&#x27; &#xd800; R&D;x").queries ==
          Queries{{"1", "a < b <3 AT&T &unknown; &lt; 'x' \xef\xbf\xbd R&D;x"}});
    CHECK(automatic("<num>1<title>&#233;&#x20ac;&#x1f33e;&#99999999999;&#;").queries ==
          Queries{{"1", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x8c\xbe&#99999999999;&#;"}});
  }
  SECTION("a label in the midst of a title is part of it") {
    CHECK(automatic("<num>1<title>Topics: mills").queries == Queries{{"1", "Topics: mills"}});
    CHECK(automatic("<num>1<title>hot topic: mills").queries == Queries{{"1", "hot topic: mills"}});
  }
}

TEST_CASE("Web track topics are read past comments, CDATA and a document type", "[format][query_file]") {
  const QueryFile found = automatic(
      "<?xml version=\"1.0\"?>\n<!DOCTYPE t [\n <!ELEMENT topic (query)>\n]>\n<t>\n<!-- <topic number=\"0\"> -->\n"
      "<topic type='faceted' number = '1'>\n<query>\n obama   family\n tree </query>\n"
      "<subtopic number=\"4\"><query>no</query></subtopic></topic>\n"
      "<topic id=2><query><![CDATA[a &amp; c]]> &eacute;</query></topic>\n"
      "<topic number=\"3\"><title>only a title</title></topic><topic number=\"4\"/></t>");
  CHECK(found.format == QueryFormat::webtrack);
  CHECK(found.queries ==
        Queries{{"1", "obama family tree"}, {"2", "a &amp; c \xc3\xa9"}, {"3", "only a title"}, {"4", ""}});
}

TEST_CASE("JSONL queries may use the usual keys", "[format][query_file]") {
  CHECK(automatic("{\"qid\":\"PLAIN-2\",\"query\":\" mill\\u0020wheel \"}\n").queries ==
        Queries{{"PLAIN-2", "mill wheel"}});
  CHECK(automatic("{\"text\":\"a\",\"_id\":18446744073709551615}\n").queries == Queries{{"18446744073709551615", "a"}});
}

TEST_CASE("A long file's text is released piece by piece, from the front in each pass", "[format]") {
  std::string text;
  std::size_t queries = 0;
  while (text.size() < 30'000'000) text += "q" + std::to_string(queries++) + ":some words of a query\n";
  std::size_t visited = 0, passes = 0;
  const char* next = nullptr;
  const auto visit = [&](std::string_view id, std::string_view words) {
    if (words == "some words of a query" && id == "q" + std::to_string(visited)) ++visited;
  };
  const QueryFormat format =
      quern::for_each_query(text, QueryFormat::automatic, "log", visit, [&](std::string_view piece) {
        if (piece.data() == text.data()) {
          ++passes;
        } else {
          CHECK(piece.data() == next);
        }
        next = piece.data() + piece.size();
        CHECK(next <= text.data() + text.size());
      });
  CHECK(format == QueryFormat::colon);
  CHECK(visited == queries);
  CHECK(passes >= 2);
  // Only the end is not released.
  CHECK(text.data() + text.size() - next < 10'000'000);
}

TEST_CASE("A line or a field of more than 4 MiB is refused with its position, before all of it is read",
          "[format][query_file]") {
  const std::string most(quern::max_written_bytes, ' ');
  for (const QueryFormat format : {QueryFormat::automatic, QueryFormat::jsonl, QueryFormat::tsv, QueryFormat::lines}) {
    const std::string query = "{\"_id\":\t\"7\",\"text\":\"mill";
    const std::string end = R"("})";
    const std::string fits = query + most.substr(query.size() + end.size()) + end;
    if (format == QueryFormat::automatic) CHECK(automatic("\n" + fits + "\n").queries.size() == 1);
    CHECK(complaint("{\"_id\":7,\t\"text\":\"mill\"}\n\n" + fits + " ", format) ==
          "test.queries, line 3: is longer than 4M; is this a file of queries?");
  }
  quern::QueryLineParser lines(QueryFormat::lines, "test.queries");
  CHECK_FALSE(lines.next(most));
  CHECK_THROWS_AS(lines.next(most + " "), CorruptFile);

  const std::string topic = "<top>\n<num>7<title>mill";
  const std::string long_narrative = "<narr>" + most + most + most;
  CHECK(automatic(topic + long_narrative + topic).queries == Queries{{"7", "mill"}, {"7", "mill"}});
  for (const char* end : {"", "</title>", "<!-- -->", "<![CDATA[ ]]>"}) {
    CHECK(automatic(topic + most.substr(4 + 10) + end).queries == Queries{{"7", "mill"}});
    CHECK(complaint(topic + topic + most + end) ==
          "test.queries, line 2: the topic that begins here has a field of more "
          "than 4M; is this a file of queries?");
  }
}

TEST_CASE("Tags are found wherever they stand in a long file of topics", "[format][query_file]") {
  const std::string blanks(quern::max_query_bytes, ' ');
  for (const std::string& filling : {blanks, "<!--" + blanks.substr(100) + "-->", "<narr>" + blanks, "<a " + blanks}) {
    std::string text;
    Queries wanted;
    // Windows end within a tag, before it and after it.
    for (int i = 1; i <= 40; ++i) {
      text += "<top>" + filling.substr(0, filling.size() - static_cast<std::size_t>(i));
      text += filling.substr(filling.size() - static_cast<std::size_t>(i)) + "<num>" + std::to_string(i) +
              "<title>mill</top>";
      wanted.push_back({std::to_string(i), "mill"});
    }
    CHECK(automatic(text).queries == wanted);
  }
}

TEST_CASE("Long files in every format are released piece by piece, damaged or not", "[format][query_file]") {
  const std::string filling(std::size_t{1} << 20, ' ');
  const std::pair<std::string, QueryFormat> kinds[] = {
      {"<top><num>7<title>mill<narr>" + filling + "</top>\n", QueryFormat::trec},
      {"<topic number='7'><query>mill</query>" + filling + "</topic>\n", QueryFormat::webtrack},
      {"7\tmill" + filling + "\n", QueryFormat::tsv},
      {"{\"_id\":7," + filling + "\"text\":\"mill\"}\n", QueryFormat::jsonl},
      {filling + "\n", QueryFormat::lines},
  };
  for (const auto& [piece, format] : kinds) {
    INFO(static_cast<int>(format));
    const std::string whole = repeated(piece, 30) + "7\tmill";
    for (const std::string& text : {whole, whole + std::string(1, '\0'), whole + "<top>\n<top>"}) {
      std::size_t released = 0, held = 0;
      const auto release = [&](std::string_view passed) {
        const auto begin = static_cast<std::size_t>(passed.data() - text.data());
        if (begin != 0) CHECK(begin == released);
        released = begin + passed.size();
        held = text.size() - released;
      };
      try {
        quern::for_each_query(
            text, format, "log", [](std::string_view, std::string_view) {}, release);
        quern::for_each_query(
            text, QueryFormat::automatic, "log", [](std::string_view, std::string_view) {}, release);
      } catch (const quern::Error&) {
      }
      CHECK(released > 0);
      CHECK(held < 14'000'000);
    }
  }
}

TEST_CASE("Hostile query files take linear time", "[format][query_file][property]") {
  const std::string pieces[] = {"<",      "<a", "<!--", "<![CDATA[",     "&", "<num>", "<topic a='",
                                "<num>1", "&#", ":",    "<topic number="};
  for (const std::string& piece : pieces) {
    INFO(piece);
    const std::string bytes = "<num>1<title>" + repeated(piece, 500000);
    const auto start = std::chrono::steady_clock::now();
    complaint(bytes);
    complaint("<topic number='1'><query>" + bytes);
    // Takes milliseconds, but minutes if every tag rereads every byte.
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(20));
  }
}
