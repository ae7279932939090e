#include <nlohmann/json.hpp>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "quern/core/error.hpp"
#include "quern/formats/queries/run_file.hpp"

#include "catch.hpp"
#include "parsed_lines.hpp"

using quern::CorruptFile;
using quern::RunResult;
using quern::testing::parse_qrels;
using quern::testing::parse_run;
using quern::testing::RunLine;

namespace {

std::string written(std::string_view format, std::string_view qid, std::string_view query,
                    const std::vector<RunResult>& results) {
  const quern::RunFormat& form = quern::run_format_named(format);
  std::string out;
  form.append(out, qid, query, results, "quern");
  return out;
}

const std::vector<RunResult> two_results{{"MILL-0007", 12.25f, "The Overshot Wheel", "http://mill.example/wheel"},
                                         {"MILL-0012", 0.1f, "", ""}};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines(1);
  for (const char c : text) {
    if (c == '\n') {
      lines.emplace_back();
    } else {
      lines.back() += c;
    }
  }
  lines.pop_back();
  return lines;
}

}  // namespace

TEST_CASE("The worked examples of run_file.md are what the formats write", "[format][run_file]") {
  CHECK(written("trec", "051", "wheels", two_results) ==
        "051 Q0 MILL-0007 1 12.25 quern\n051 Q0 MILL-0012 2 0.1 quern\n");
  CHECK(written("msmarco", "051", "wheels", two_results) == "051\tMILL-0007\t1\n051\tMILL-0012\t2\n");
  CHECK(written("json", "051", "wheels", two_results) ==
        "{\"id\":\"051\",\"query\":\"wheels\",\"results\":["
        "{\"rank\":1,\"docno\":\"MILL-0007\",\"score\":12.25,\"title\":\"The Overshot Wheel\","
        "\"url\":\"http://mill.example/wheel\"},"
        "{\"rank\":2,\"docno\":\"MILL-0012\",\"score\":0.1,\"title\":\"\",\"url\":\"\"}]}\n");
  CHECK(written("text", "051", "wheels", two_results) ==
        "051: wheels\n"
        "   1  12.2500  MILL-0007  The Overshot Wheel\n"
        "               http://mill.example/wheel\n"
        "   2   0.1000  MILL-0012\n"
        "\n");
}

TEST_CASE("Requested fields are shown instead of title and URL", "[format][run_file]") {
  const std::string snippet = "Some wheels turn.";
  const std::vector<quern::TextPlace> places{{5, 11}};
  using Kind = quern::FieldValue::Kind;
  std::vector<quern::ResultField> fields{{"lang", {Kind::text, 0, "en"}, false, {}},
                                         {"text", {Kind::text, 0, snippet}, true, places}};
  RunResult result{"MILL-0007", 12.25f, "", ""};
  result.fields = fields;
  CHECK(written("json", "051", "wheels", {result}) ==
        "{\"id\":\"051\",\"query\":\"wheels\",\"results\":["
        "{\"rank\":1,\"docno\":\"MILL-0007\",\"score\":12.25,\"lang\":\"en\","
        "\"text\":{\"snippet\":\"Some wheels turn.\",\"matches\":[[5,11]]}}]}\n");
  const std::string text = written("text", "051", "wheels", {result});
  CHECK(text ==
        "051: wheels\n"
        "   1  12.2500  MILL-0007\n"
        "               lang: en\n"
        "               Some wheels turn.\n"
        "\n");
  std::string bold;
  quern::append_results_table(bold, "051", "wheels", {{&result, 1}, 1, true, true, true});
  CHECK(bold.find("Some \x1b[1mwheels\x1b[0m turn.") != std::string::npos);
  fields = {{"none", {}, false, {}},
            {"yes", {Kind::yes, 0, {}}, false, {}},
            {"year", {Kind::number, -0.5, {}}, false, {}},
            {"odd", {Kind::text, 0, "a\x1b[2J\xff"}, false, {}}};
  result.fields = fields;
  const std::string json = written("json", "1", "q", {result});
  CHECK(json.find("\"none\":null,\"yes\":true,\"year\":-0.5,\"odd\":\"a\\u001b[2J\xEF\xBF\xBD\"}") !=
        std::string::npos);
  CHECK(written("text", "1", "q", {result}).find('\x1b') == std::string::npos);
}

TEST_CASE("Long snippets are broken into lines between words", "[format][run_file]") {
  std::string snippet;
  for (int i = 0; i < 30; ++i) snippet += (i > 0 ? " word" : "word") + std::to_string(i);
  const quern::ResultField field{"text", {quern::FieldValue::Kind::text, 0, snippet}, true, {}};
  RunResult result{"D", 1, "", ""};
  result.fields = std::span(&field, 1);
  std::string joined;
  const auto lines = lines_of(written("text", "1", "q", {result}));
  REQUIRE(lines.size() == 6);
  for (std::size_t i = 2; i < 5; ++i) {
    CHECK(lines[i].size() <= 100);
    joined += (i > 2 ? " " : "") + lines[i].substr(lines[i].find_first_not_of(' '));
  }
  CHECK(joined == snippet);
}

TEST_CASE("The registry of output formats has trec first and refuses unknown names", "[format][run_file]") {
  REQUIRE(quern::all_run_formats().size() == 4);
  CHECK(quern::all_run_formats().front().name == "trec");
  for (const quern::RunFormat& format : quern::all_run_formats()) {
    CHECK(&quern::run_format_named(format.name) == &format);
    CHECK_FALSE(format.description.empty());
  }
  CHECK_THROWS_AS(quern::run_format_named("xml"), quern::InvalidArgument);
}

TEST_CASE("Queries without results leave no lines except in formats that name the query", "[format][run_file]") {
  CHECK(written("trec", "1", "mill", {}).empty());
  CHECK(written("msmarco", "1", "mill", {}).empty());
  CHECK(written("json", "1", "mill", {}) == "{\"id\":\"1\",\"query\":\"mill\",\"results\":[]}\n");
  CHECK(written("text", "1", "mill", {}) == "1: mill\n  no documents found\n\n");
}

TEST_CASE("JSON says of results of a search with a budget whether they are exact", "[format][run_file]") {
  const RunResult result{"MILL-0007", 12.25f, "", ""};
  for (const auto& [bound, text] :
       {std::pair<std::optional<float>, std::string>{std::nullopt, "true,\"bound_left\":null"},
        {12.5f, "false,\"bound_left\":12.5"}}) {
    quern::ResultPiece piece{{&result, 1}};
    piece.proof = quern::ResultProof{bound};
    std::string line;
    quern::run_format_named("json").append_piece(line, "1", "mill", piece, "quern");
    CHECK(line ==
          "{\"id\":\"1\",\"query\":\"mill\",\"exact\":" + text +
              ",\"results\":[{\"rank\":1,\"docno\":\"MILL-0007\",\"score\":12.25,\"title\":\"\",\"url\":\"\"}]}\n");
  }
}

TEST_CASE("Results in pieces give the text of all at once", "[format][run_file]") {
  std::vector<std::string> docnos;
  std::vector<RunResult> results;
  for (int i = 0; i < 7; ++i) docnos.push_back("MILL-" + std::to_string(100 + i));
  for (int i = 0; i < 7; ++i) results.push_back({docnos[i], 9.5f - static_cast<float>(i), "A Mill", "http://e/"});
  const std::span<const RunResult> all = results;
  for (const quern::RunFormat& format : quern::all_run_formats()) {
    for (const std::size_t size : {1, 3, 6}) {
      INFO(format.name << " " << size);
      std::string text;
      for (std::size_t from = 0; from < all.size(); from += size) {
        const auto some = all.subspan(from, std::min(size, all.size() - from));
        format.append_piece(text, "7", "mill", {some, from + 1, from == 0, from + some.size() == all.size()}, "quern");
      }
      CHECK(text == written(format.name, "7", "mill", results));
    }
  }
}

TEST_CASE("Every written float reads back to the same bits", "[format][run_file][property]") {
  std::mt19937 random(1);
  std::vector<float> scores{0.0f,
                            -0.0f,
                            1.0f,
                            1e30f,
                            100000.0f,
                            16777216.0f,
                            0.1f,
                            std::numeric_limits<float>::max(),
                            std::numeric_limits<float>::min(),
                            std::numeric_limits<float>::denorm_min(),
                            std::numeric_limits<float>::infinity()};
  while (scores.size() < 20000) {
    const float score = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (!std::isnan(score)) scores.push_back(score);
  }
  std::vector<RunResult> results;
  for (const float score : scores) results.push_back({"d", score, "", ""});
  const std::vector<RunLine> run = parse_run(written("trec", "1", "", results), "run");
  REQUIRE(run.size() == scores.size());
  for (std::size_t i = 0; i < run.size(); ++i) {
    REQUIRE(std::bit_cast<std::uint32_t>(run[i].score) == std::bit_cast<std::uint32_t>(scores[i]));
    REQUIRE(run[i].rank == i + 1);
  }
}

TEST_CASE("Blanks and control characters in a column become underscores", "[format][run_file]") {
  const std::vector<RunResult> odd{
      {"my doc\t1\n", 1.0f, "", ""}, {"", 0.5f, "", ""}, {"d\xc3\xa9j\xc3\xa0", 0.25f, "", ""}};
  CHECK(written("trec", "a b", "", odd) ==
        "a_b Q0 my_doc_1_ 1 1 quern\na_b Q0 _ 2 0.5 quern\na_b Q0 d\xc3\xa9j\xc3\xa0 3 0.25 quern\n");
  CHECK(written("msmarco", "a b", "", odd) == "a_b\tmy_doc_1_\t1\na_b\t_\t2\na_b\td\xc3\xa9j\xc3\xa0\t3\n");
}

TEST_CASE("JSON output is valid for any bytes", "[format][run_file][property]") {
  std::mt19937 random(2);
  for (int round = 0; round < 300; ++round) {
    std::string noise(random() % 40, ' ');
    for (char& c : noise) c = static_cast<char>(random());
    const std::string out = written("json", noise, noise, {{noise, 1.5f, noise, noise}, {noise, INFINITY, "", ""}});
    REQUIRE(lines_of(out).size() == 1);
    const auto parsed = nlohmann::json::parse(out);
    REQUIRE(parsed["results"][0]["score"] == 1.5);
    REQUIRE(parsed["results"][1]["score"].is_null());
  }
  const auto parsed = nlohmann::json::parse(written("json", "1", "mo\xff\"\\\n", {}));
  CHECK(parsed["query"] == "mo\xef\xbf\xbd\"\\\n");
}

TEST_CASE("Text output keeps columns, cuts titles to 100 columns and disarms control characters",
          "[format][run_file]") {
  const std::string long_title(300, 'x');
  const std::string wheat = "\xe9\xba\xa6";  // two columns wide
  std::string wide;
  for (int i = 0; i < 100; ++i) wide += wheat;
  const std::vector<std::string> lines = lines_of(written("text", "1", "a\x1b[31mb\xff",
                                                          {{"a", 100.0f, long_title, ""},
                                                           {"bcd", 9.5f, wide,
                                                            "http://x.example/\x1b"
                                                            "c"},
                                                           {std::string_view("f\n"), -1.0f, "t", ""}}));
  REQUIRE(lines.size() == 6);
  CHECK(lines[0] == "1: a [31mb\xef\xbf\xbd");
  CHECK(lines[1] == "   1  100.0000  a      " + std::string(76, 'x') + "\xe2\x80\xa6");
  CHECK(lines[2].substr(0, 23) == "   2    9.5000  bcd    ");
  CHECK(lines[2].size() == 23 + 38 * 3 + 3);
  CHECK(lines[3] == "                http://x.example/ c");
  CHECK(lines[4] == "   3   -1.0000  f      t");
}

TEST_CASE("Runs of other programs are read and their errors named", "[format][run_file]") {
  CHECK(parse_run("1 Q0 d1 1 +2.5e0 x\r\n\n2\tQ0  d,_2 0 -1e-60 y z\n", "run") ==
        std::vector<RunLine>{{"1", "d1", 1, 2.5f, "x"}, {"2", "d,_2", 0, -0.0f, "y"}});
  for (const std::string score : {"1e300", "1e400", "+1e400", "inf"})
    CHECK(parse_run("1 0 d 1 " + score + " t", "run")[0].score == std::numeric_limits<float>::infinity());
  CHECK(parse_run("1 0 d 1 1e-400 t", "run")[0].score == 0);
  // The ranks of other programs.
  CHECK(parse_run("1 0 d 1.0 2 t\n1 0 e -1 1 t\n1 0 f 4294967296 0 t\n", "run") ==
        std::vector<RunLine>{{"1", "d", 1, 2, "t"}, {"1", "e", -1, 1, "t"}, {"1", "f", 4294967296, 0, "t"}});
  CHECK(parse_run("", "run").empty());
  for (const std::string_view bad : {"1 Q0 d 1 2.5", "1 Q0 d one 2.5 t", "1 Q0 d 1 2.5x t", "1 Q0 d 1 + t",
                                     "1 Q0 d 12.5 1 t", "1 Q0 d nan 1 t", "1 Q0 d 1 1e400x t", "1 Q0 d 1 +-1 t"}) {
    const std::string bytes = "1 Q0 d 1 2.5 t\n" + std::string(bad) + "\n";
    INFO(bad);
    CHECK_THROWS_AS(parse_run(bytes, "run"), CorruptFile);
  }
  CHECK(parse_run("# system: mine\n1 Q0 d#1 1 20.1234567 t\n  # more\n", "run").at(0).docno == "d#1");
  CHECK(parse_qrels("1 0 msmarco_v2.1_doc_00_0#1_2 1\n#1 0 d 1\n", "qrels").size() == 1);
  try {
    parse_run("1 Q0 d 1 2.5 t\n\n1 Q0 d\n", "my.run");
    FAIL("a short line was taken");
  } catch (const CorruptFile& error) {
    CHECK(std::string(error.what()).find("my.run, line 3: ") == 0);
  }
}

TEST_CASE("Runs of MS MARCO are read where ranks suffice", "[format][run_file]") {
  const auto read = [](std::string_view bytes, RunScores scores) {
    std::vector<std::pair<std::string, double>> lines;
    read_run(
        *ByteSource::from_memory("run", std::string(bytes)),
        [&](const RunLineText& line, std::uint64_t) {
          CHECK_FALSE(line.has_score);
          CHECK((line.qid == "7" && line.double_score == -line.rank && line.score == -line.rank && line.tag.empty()));
          lines.emplace_back(line.docno, line.rank);
        },
        scores);
    return lines;
  };
  CHECK(read("# mine\n7\td\t1\n\n7\te\t2\r\n7 f 10\n", RunScores::or_ranks) ==
        std::vector<std::pair<std::string, double>>{{"d", 1}, {"e", 2}, {"f", 10}});
  CHECK_THROWS_AS(read("7\td\t1\n", RunScores::required), CorruptFile);
  for (const char* const bad : {"7 d 0\n", "7 d 1\n7 e\n", "7 d 1\n7 e -1\n", "7 d 1\n7 e 2 3\n", "7 d 1.5\n",
                                "7 d 1\n7 e 4294967296\n", "7 d 1\n7 Q0 e 2 1.5 t\n"}) {
    INFO(bad);
    CHECK_THROWS_AS(read(bad, RunScores::or_ranks), CorruptFile);
  }
}

TEST_CASE("Other columns in place of judgements or a run are refused with what they seem to be",
          "[format][run_file][reports]") {
  const auto message = [](const std::string& line, bool is_run) -> std::string {
    try {
      const std::string bytes = (is_run ? "1 Q0 d 1 2.5 t\n" : "1 0 d 1\n") + line + "\n";
      is_run ? void(parse_run(bytes, "file")) : void(parse_qrels(bytes, "file"));
    } catch (const CorruptFile& error) {
      return error.what();
    }
    return "no error";
  };
  struct Case {
    const char *line, *in_qrels, *in_run;
  };
  const char* const swapped = "like a run; if judgements and run are in each other's place, swap them";
  for (const Case& known : {
           Case{"10002 GX000-00-1 0 1 0.0129", "like prels", "like prels"},
           Case{"10002 clueweb09-en0003-55-31884 0 0 1", "like prels", "like prels"},
           Case{"q1 Q0 d2 1 3 t", swapped, "no error"},
           Case{"q1 Q0 d2 1 3 t more", "more than 6 columns, like a run", "no error"},
           Case{"q1 Q0 d2 1 3.5", "like a run without its last column", "like a run without its last column"},
           Case{"q1 0 d2 2", "no error", "has 4 columns, like judgements; if judgements and run are in each other's"},
           Case{"q1 0 d2 0.5", "like judgements with decimals", "like judgements with decimals"},
           Case{"q1 1 2 d2 1", "like judgements of several judges", "like judgements of several judges"},
           Case{"q1 0 d2 3 1", "like judgements of several judges", "like judgements of several judges"},
           Case{"0001 d2 L2", "like judgements of NTCIR", "like judgements of NTCIR"},
           Case{"q1 d2", "make \"qid 0 docno 1\"", "make \"qid 0 docno 1\""},
           Case{"q1 d2 1", "like a run of MS MARCO", "like a run of MS MARCO"},
           Case{"{\"q1\": {\"d2\": 1}}", "like JSON", "like JSON"},
           Case{"q1 0 d2", "has 3 columns", "has 3 columns"},
           Case{"q1 0 d2 L2", "like judgements of NTCIR", "like judgements of NTCIR"},
           Case{"q1 0 d2 99999999999", "like judgements with a relevance of more than 32 bits", "than 32 bits"},
           Case{"q1 0 d2 0x1", "whose relevance is not a decimal number", "is not a decimal number"},
           Case{"q1 0 d2 R", "whose relevance is not a decimal number", "is not a decimal number"},
           Case{"q1 0 d2 1 # sure", "like judgements with a comment; remove it", "the fifth column, the score"},
           Case{"TOPIC ITERATION DOCUMENT# RELEVANCY", "like a heading; remove it", "like a heading; remove it"},
           Case{"query_id\tdoc_id\trelevance", "write \"query-id corpus-id score\"", "like a heading; remove it"},
           Case{"q1,0,d2,1", "like comma-separated values", "like comma-separated values"},
           Case{"\xff\xfe"
                "1",
                "like text in UTF-16", "like text in UTF-16"},
       }) {
    INFO(known.line);
    const std::string qrels = message(known.line, false), run = message(known.line, true);
    CHECK(qrels.find(known.in_qrels) != std::string::npos);
    CHECK(run.find(known.in_run) != std::string::npos);
    if (qrels != "no error") CHECK(qrels.starts_with("file, line 2: is not \"qid 0 docno relevance\", but has "));
  }
}
