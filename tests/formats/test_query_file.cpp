#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "catch.hpp"
#include "formats/query_reading.hpp"

using namespace quern;
using namespace quern::testing;

namespace {

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
  for (const std::string weight : {"1e999", "NaN", "-Infinity"})
    refused("{\"id\": 1, \"vector\": {\"a\": " + weight + "}}", "the weight of the term 'a' is not a finite number");
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

TEST_CASE("Keys of queries that nothing reads may hold any number", "[format][query_file][reports]") {
  for (const std::string number :
       {"18446744073709551616", "1e400", "-1e400", "NaN", "Infinity", "-Infinity", "[NaN]"}) {
    const std::string rest = ", \"score\": " + number + "}\n";
    CHECK(automatic("{\"_id\": 1, \"text\": \"mill\"" + rest).queries == Queries{{"1", "mill"}});
    CHECK(parse_queries("{\"id\": 1, \"vector\": {\"mill\": 1}" + rest, QueryFormat::vector, "q").queries ==
          Queries{{"1", "{\"mill\":1}"}});
  }
  CHECK(automatic("{\"_id\": 340282366920938463463374607431768211455, \"text\": \"\\ud800mill\"}\n").queries ==
        Queries{{"340282366920938463463374607431768211455", "\uFFFDmill"}});
  CHECK(quern::parse_query_vector(R"({"a": 18446744073709551616, "\\\"\ud83d\ude00\udc00": -0, "b\"": 1e2})", "q") ==
        std::vector<quern::QueryTerm>{{"a", 18446744073709551616.0}, {"\\\"\U0001F600\uFFFD", 0}, {"b\"", 100}});
  using Catch::Contains;
  for (const std::string id : {"NaN", "1e400", "1.5"})
    CHECK_THROWS_WITH(automatic("{\"_id\": " + id + ", \"text\": \"mill\"}\n"),
                      Contains("line 1") && Contains("neither a string nor an integer"));
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
    CHECK(automatic("1\tmill\nmill stone\n").format == QueryFormat::lines);
  }
  SECTION("other columns between tabs are not taken for queries") {
    for (const std::string_view bytes : {"1\tmill\nmill stone\tgrit\n", "who grinds?\t[\"Mills\"]\n",
                                         "142\tmills\t2006-03-01\t\n7\tgrit\t2006-03-12\t1\n"}) {
      INFO(bytes);
      CHECK(complaint(bytes).find("test.queries: every line has columns between tabs") == 0);
      CHECK(parse_queries(bytes, QueryFormat::lines, "test.queries").queries.size() > 0);
    }
  }
  SECTION("judgements and runs are not taken for queries") {
    const std::pair<std::string_view, const char*> files[] = {
        {"7 0 MILL-1 1\n7 0 MILL-2 0\n12 0 MILL-1 -1\n", "judgements (qrels), \"qid 0 docno relevance\""},
        {"7\t0\tMILL-1\t1\n\n12\t0\tMILL-2\t2\n", "judgements"},
        {"7 Q0 MILL-1 1\r\n12 Q0 MILL-2 0\r\n", "judgements"},
        {"7 Q0 MILL-1 1 2.5 quern\n7 Q0 MILL-2 2 -1e-3 quern\n", "a run, \"qid Q0 docno rank score tag\""}};
    for (const auto& [bytes, kind] : files) {
      INFO(bytes);
      CHECK(complaint(bytes).find(std::string("test.queries: every line looks like one of ") + kind) == 0);
      CHECK(parse_queries(bytes, QueryFormat::lines, "test.queries").queries.size() > 1);
    }
    for (const std::string_view bytes : {"apollo 11 landing 1969\n", "apollo 11 landing 1969\nwater mills in 1900\n",
                                         "world 2 fair 1900\nmill\n", "7 0 MILL-1 1\n7 Q0 MILL-1 1 2.5 quern\n"})
      CHECK(automatic(bytes).format == QueryFormat::lines);
    CHECK(automatic("7\t2 chainz 4\n8\t3 doors 7\n").format == QueryFormat::tsv);
  }
  SECTION("columns between tabs that are not in all lines belong to the query") {
    CHECK(automatic("1\tmill\t\n2\tgrit\t").queries == Queries{{"1", "mill"}, {"2", "grit"}});
    CHECK(automatic("1\tmill\tstone\n2\tgrit\n").queries == Queries{{"1", "mill\tstone"}, {"2", "grit"}});
  }
  SECTION("columns may have a heading, and commas don't separate them") {
    for (const char* heading :
         {"query_id\tquery_text", "number\ttitle", "tweet_id\ttweet_content", "topic-id\tQuestion"})
      CHECK(automatic(std::string(heading) + "\n7\tmill\n").queries == Queries{{"7", "mill"}});
    CHECK(automatic("covid\tquery\n7\tmill\n").queries.size() == 2);
    const std::string_view quoted = "\"qid\"\t\"query\"\n\"7\"\t\"water mill\"\n";
    CHECK(complaint(quoted).find("test.queries: has columns in quotation marks") == 0);
    CHECK(parse_queries(quoted, QueryFormat::tsv, "test.queries").queries.size() == 2);
    CHECK(automatic("\nquery_id\tQuery\n7\tmill\n").queries == Queries{{"7", "mill"}});
    CHECK(automatic("id\ttitle track\n").queries == Queries{{"id", "title track"}});
    CHECK(automatic("7\tmill\nqid\tquery\n").queries == Queries{{"7", "mill"}, {"qid", "query"}});
    const std::string_view commas = "7,\"water, mill\"\n";
    CHECK_THROWS_WITH(parse_queries(commas, QueryFormat::automatic, "mills.csv.gz"),
                      Catch::Contains("mills.csv.gz, line 1: begins with '7,\"water, mill\"', like comma-separated "));
    CHECK(parse_queries(commas, QueryFormat::lines, "mills.csv").queries == Queries{{"1", "7,\"water, mill\""}});
  }
  SECTION("markup without topics is read as lines only where that is asked for") {
    for (const std::string_view bytes :
         {"<3 mills\n<b> bread\n", "{x} mills\n{\n", "[solved] mills\nbread\n", ".I 1\n.W\nmills\n",
          "<?xml version='1.0'?>\n<trecqa><target id='66' text='mills'><q id='66.1'>Who?</q></target></trecqa>\n",
          "<sessiontrack2012>\n<session num='1'><topic num='2'><title>mills</title></topic></session>\n",
          "<DOC>\n<DOCNO>1</DOCNO>\nmills\n</DOC>\n", "{\n  \"id\": 1,\n  \"text\": \"mills\"\n}\n",
          "<200>What mills grind?\n", "<DOC 1>\nmills\n</DOC>\n", "# by hand\n<top>\n<num> 1\n<title> mills\n</top>\n",
          "Topics\n<topic number='1'><query>mills</query></topic>\n", ".i 1\n.w\nmills\n",
          "301 water mills\n302 bread\n", "1\nMILLS\n/\n2\nBREAD\n/\n", "- id: 1\n  text: mills\n",
          "topics:\n- mills\n", "id: x\ntext: mills\n", "---\nmills\n"}) {
      INFO(bytes);
      CHECK(complaint(bytes).find("test.queries, line 1: ") == 0);
      CHECK(complaint(bytes).find(option_name<"queries-format">) != std::string::npos);
      CHECK(parse_queries(bytes, QueryFormat::lines, "test.queries").format == QueryFormat::lines);
    }
    CHECK(automatic("mills\n<b> bread\n[oats]\n{\n").format == QueryFormat::lines);
    for (const char* plain :
         {"7 mills\n", "7 mills\n7 dwarfs\n", "7 mills\nbread\n", "1984\n2001\n", "- mills\n- oats\n", "hot: mills\n"})
      CHECK(automatic(plain).format == QueryFormat::lines);
    CHECK(automatic("1\t<b> bread\n").format == QueryFormat::tsv);
  }
}

TEST_CASE("A log with one odd line in a hundred is refused, with the line", "[format][query_file]") {
  CHECK(complaint(log_with_odd_line(200, 150, "no id here\n")).find("line 150") != std::string::npos);
  CHECK(complaint(log_with_odd_line(200, 150, "no id here\n")).find(option_name<"queries-format">) !=
        std::string::npos);
  for (const char* rest : {"{\"_id\":\"6\",\"te", "mills\n"})
    CHECK(complaint("{\"id\":1,\"text\":\"mill\"}\n{\"id\":2,\"text\":\"mill\"}\n" + std::string(rest))
              .find("test.queries, line 3: is not a JSON object, as other lines are") == 0);
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

TEST_CASE("A query of more than 64 MiB is refused, with its number", "[format][query_file]") {
  std::string text = "7\t" + std::string(quern::max_query_bytes, 'x');
  quern::QueryLineParser lines(QueryFormat::tsv, "test.queries");
  CHECK(lines.next(text)->text.size() == quern::max_query_bytes);
  text += 'x';
  CHECK_THROWS_AS(lines.next(text), CorruptFile);
  CHECK(complaint("6\tmill\n" + text, QueryFormat::tsv) ==
        "test.queries: query 2, with the id \"7\", is longer than 64M; is this a file of queries?");
  text[1] = 'x';
  text.back() = '\t';
  CHECK(complaint(text, QueryFormat::tsv).size() < 200);
}

TEST_CASE("Topics that repeat a term by its weight are read whole", "[format][query_file]") {
  const std::string terms = repeated_text("##er mill ", 230'000);
  const std::string text = terms.substr(0, terms.size() - 1);
  const Queries want{{"1", text}, {"2", "mill"}};
  CHECK(automatic("1\t" + terms + "\n2\tmill\n").queries == want);
  CHECK(automatic("{\"id\":1,\"text\":\"" + terms + "\"}\n{\"id\":2,\"text\":\"mill\"}\n").queries == want);
  CHECK(automatic("<top><num>1<title>" + terms + "</top><top><num>2<title>mill</top>").queries == want);
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
  CHECK(visited("<num>7<title>mill<num>8<title><top><title>x", QueryFormat::automatic) ==
        std::pair(two, std::string("damaged")));
  const Queries numbered{{"1", "mill"}, {"2", "stone"}};
  CHECK(visited("mill\n\nstone", QueryFormat::automatic) == std::pair(numbered, std::string("lines")));
}

TEST_CASE("Arrays of JSON objects are read, and keys can be named", "[format][query_file][reports]") {
  const Queries want{{"7", "water mills"}, {"12", "flour & bran"}};
  const std::string array =
      "[\n  {\n    \"_id\": \"7\",\n    \"text\": \"water mills\"\n  },\n  {\"_id\": 12, \"more\": [{}, \"]\"], "
      "\"text\": \"flour & bran\"}\n]\n";
  const QueryFile found = automatic(array);
  CHECK(found.format == QueryFormat::jsonl);
  CHECK(found.queries == want);
  CHECK(parse_queries(array, QueryFormat::jsonl, "test.queries").queries == want);
  CHECK(parse_queries("[{\"id\": 1, \"vector\": {\"mill\": 2}}]", QueryFormat::vector, "test.queries").queries ==
        Queries{{"1", "{\"mill\":2}"}});
  CHECK(complaint("[]").find("contains no queries") != std::string::npos);
  CHECK(complaint("[\n{\"_id\": 1, \"text\": \"a\"},\n\"mill\"]").find("test.queries, line 3: is not a JSON object") ==
        0);
  for (const char* damaged : {"[\n{\"_id\": 1, \"text\": \"a\"},\n", "[\n{\"_id\": 1,\n \"text\"}]",
                              "[{\"_id\": 1, \"text\": \"a\"}]\n\n[", "[solved] mill\n"}) {
    INFO(damaged);
    CHECK(complaint(damaged).find("test.queries, line ") == 0);
    CHECK(complaint(damaged).find("is not a JSON array of queries") != std::string::npos);
  }
  CHECK(complaint("{\"1\": {\"title\": \"mill\"}, \"2\": {\"title\": \"wheel\"}}\n").find("the keys '1', '2'") !=
        std::string::npos);
  CHECK(complaint("{\"queries\": [{\"number\": \"301\", \"text\": \"mill\"}]}\n") ==
        "test.queries, line 1: has no \"_id\", but the array 'queries'; make a file of that array, for example with jq "
        ".queries");
  const std::string questions = "{\"question_id\": 7, \"question\": \"Who mills?\", \"hint\": \"water\"}\n";
  CHECK(complaint(questions) ==
        "test.queries, line 1: has no \"_id\", but the keys 'question_id', 'question', 'hint'; "
        "name the id's with " +
            std::string(option_name<"id-field">));
  QueryLayout layout;
  layout.id_field = "question_id";
  CHECK(complaint(questions, layout).find(option_name<"text-field">) != std::string::npos);
  layout.text_fields = {"question"};
  CHECK(parse_queries(questions, layout, "test.queries").queries == Queries{{"7", "Who mills?"}});
  layout.text_fields = {"question", "more", "hint"};
  CHECK(parse_queries("[" + questions + "]", layout, "test.queries").queries == Queries{{"7", "Who mills? water"}});
  layout.text_fields = {"question_id"};
  CHECK(complaint(questions, layout).find("its \"question_id\" is not a string") != std::string::npos);
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

TEST_CASE("A line or a field of more than 128 MiB is refused with its position, before all of it is read",
          "[format][query_file]") {
  const std::string most(QueryLayout().max_written_bytes(), ' ');
  const std::string fits = "7\tmill" + most.substr(6);
  CHECK(parse_queries(fits + '\n', QueryFormat::tsv, "test.queries").queries == Queries{{"7", "mill"}});
  CHECK(complaint("7\tmill\n\n" + fits + ' ') ==
        "test.queries, line 3: is longer than 128M; is this a file of queries?");
  CHECK(complaint("[{\"_id\":7,\"text\":\"mill\"},\n{" + most + "}]") ==
        "test.queries, line 2: is longer than 128M; is this a file of queries?");
  quern::QueryLineParser lines(QueryFormat::lines, "test.queries");
  CHECK_FALSE(lines.next(most));
  CHECK_THROWS_AS(lines.next(fits + ' '), CorruptFile);

  const std::string topic = "<top>\n<num>7<title>mill";
  CHECK(automatic(topic + "<desc>" + fits + topic).queries == Queries{{"7", "mill"}, {"7", "mill"}});
  CHECK(automatic(topic + most.substr(4 + 10) + "<![CDATA[ ]]>").queries == Queries{{"7", "mill"}});
  CHECK(complaint(topic + topic + most) ==
        "test.queries, line 2: the topic that begins here has a field of more than 128M; is this a file of queries?");
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
    const std::string whole = repeated_text(piece, 30) + "7\tmill";
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
    const std::string bytes = "<num>1<title>" + repeated_text(piece, 500000);
    const auto start = std::chrono::steady_clock::now();
    complaint(bytes);
    complaint("<topic number='1'><query>" + bytes);
    // Takes milliseconds, but minutes if every tag rereads every byte.
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(20));
  }
}
