#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "catch.hpp"
#include "cli/run_quern.hpp"
#include "corpus/compressing.hpp"
#include "formats/page_example.hpp"

/// `quern eval` with the example of formats/queries/measures.md, and with the sample.
namespace quern {
namespace {

using namespace testing;

struct ExampleRun {
  TemporaryFolder folder;
  std::string run = folder.write("example.run", page_block("queries/measures.md", "run"));
  std::string qrels = folder.write("example.qrels", page_block("queries/measures.md", "qrels"));
};

}  // namespace

TEST_CASE("eval prints the page's values in the format of trec_eval", "[cli][evaluation]") {
  const ExampleRun example;
  const RunOutcome outcome =
      run_quern({"eval", example.run, example.qrels, "--measures", "map,bpref,ndcg,ndcg_cut.2", "--per-query"});
  CHECK(outcome.exit_status == 0);
  CHECK(outcome.out == page_block("queries/measures.md", "values"));
  CHECK(outcome.err == "quern: " + example.run + ": skipped 1 query without judgements\nquern: " + example.run +
                           ": skipped 1 query with judgements but without results; --complete counts them as 0\n");

  const RunOutcome usual = run_quern({"eval", example.run, example.qrels, "--complete", "--quiet"});
  CHECK(usual.err.empty());
  const CommandLine lines = lines_of(usual.out);
  REQUIRE(lines.size() == 17);
  CHECK(lines[0] == "runid                 \tall\texample");
  CHECK(lines[1] == "num_q                 \tall\t4");
  CHECK(lines[2] == "num_ret               \tall\t9");
  CHECK(lines[3] == "num_rel               \tall\t6");
  CHECK(lines[4] == "num_rel_ret           \tall\t4");
  CHECK(lines[5] == "map                   \tall\t0.2188");
  // trec_eval 10 also prints the queries without results that count, 9 did not.
  const auto by_query = [&](const char* version) {
    return run_quern({"eval", example.run, example.qrels, "--complete", "--per-query", "--quiet", "--measures",
                      "num_ret,map", "--as", version})
        .out;
  };
  CHECK(contains(by_query("10"), "num_ret               \t4\t0\nmap                   \t4\t0.0000\n"));
  CHECK_FALSE(contains(by_query("9"), "\t4\t0"));
  // No lines of single queries for measures over all queries only.
  const RunOutcome summary_lines =
      run_quern({"eval", example.run, example.qrels, "--measures", "num_q,gm_map", "--per-query", "--quiet"});
  CHECK(summary_lines.out == "num_q                 \tall\t3\ngm_map                \tall\t0.0123\n");
}

TEST_CASE("eval and tune say so if the judgements are of other documents", "[cli][evaluation]") {
  const TemporaryFolder folder;
  const std::string run = folder.write("run", "1 Q0 a 1 2 t\n"), qrels = folder.write("qrels", "1 0 D-a 1\n"),
                    documents = folder.write("documents.jsonl", R"({"id": "a", "text": "water mill"})"),
                    topics = folder.write("topics", "1:mill\n"), index = folder.path("index");
  const RunOutcome outcome = run_quern({"eval", run, qrels});
  CHECK(outcome.exit_status == 0);
  CHECK(outcome.err == "quern: " + run + ": no result has a judgement; the judgements may be of other documents\n");
  CHECK(run_quern({"eval", run, folder.write("right", "1 0 a 0\n"), "--measures", "map"}).err.empty());
  REQUIRE(run_quern({"index", documents, "-o", index, "--quiet"}).exit_status == 0);
  const RunOutcome tuned = run_quern({"tune", index, "-q", topics, "--qrels", qrels});
  CHECK(tuned.exit_status == 0);
  CHECK(contains(tuned.err, "every point has the value 0; the judgements may be of other documents"));
}

TEST_CASE("eval accepts depth and relevance level, compressed files and standard input", "[cli][evaluation]") {
  const ExampleRun example;
  const auto values = [&](CommandLine words, const Surroundings& surroundings = {}) {
    words.insert(words.begin(), "eval");
    words.insert(words.end(), {"--measures", "num_ret,num_rel,num_rel_ret,P.2", "--json", "--quiet"});
    const RunOutcome outcome = run_quern(words, surroundings);
    INFO(outcome.err);
    REQUIRE(outcome.exit_status == 0);
    return outcome.json();
  };
  const auto all = values({example.run, example.qrels});
  CHECK(all["measures"] == nlohmann::json{{"num_ret", 9}, {"num_rel", 5}, {"num_rel_ret", 4}, {"P_2", 1.0 / 3}});
  CHECK(all["queries"] == 3);
  CHECK(all["queries_without_results"] == 1);
  CHECK(all["queries_without_judgements"] == 1);
  CHECK(all["tag"] == "example");
  CHECK(all["depth"].is_null());
  CHECK_FALSE(all.contains("by_query"));
  const auto first = values({example.run, example.qrels, "--depth", "1", "--relevance-level", "2"});
  CHECK(first["measures"] == nlohmann::json{{"num_ret", 3}, {"num_rel", 1}, {"num_rel_ret", 0}, {"P_2", 0.0}});
  CHECK((first["depth"] == 1 && first["relevance_level"] == 2));
  Surroundings piped;
  piped.input = read_file(example.run);
  CHECK(values({"-", example.qrels}, piped)["measures"] == all["measures"]);
  piped.input = read_file(example.qrels);
  CHECK(values({example.run, "-"}, piped)["measures"] == all["measures"]);
  const std::string packed_run = example.folder.write("packed.run", gzipped(read_file(example.run))),
                    packed_qrels = example.folder.write("packed.qrels", gzipped(read_file(example.qrels)));
  CHECK(values({packed_run, packed_qrels})["measures"] == all["measures"]);
  const auto by_query = values({example.run, example.qrels, "--per-query"})["by_query"];
  REQUIRE(by_query.size() == 3);
  CHECK(by_query[1] ==
        nlohmann::json{{"id", "2"}, {"measures", {{"num_ret", 2}, {"num_rel", 1}, {"num_rel_ret", 1}, {"P_2", 0.5}}}});
}

TEST_CASE("eval --compare tests differences, with the same figures each time", "[cli][evaluation]") {
  const TemporaryFolder folder;
  std::string qrels, first, second, third;
  for (int query = 0; query < 30; ++query) {
    const std::string id = std::to_string(query);
    const auto both = [&](const char* above, const char* below) {
      return id + " Q0 " + above + " 1 2 t\n" + id + " Q0 " + below + " 2 1 t\n";
    };
    qrels += id + " 0 a 1\n";
    first += both("b", "a");
    second += query % 3 == 0 ? both("b", "a") : both("a", "b");
    third += query % 2 == 0 ? both("b", "a") : id + " Q0 c 1 1 t\n";
  }
  first += "31 Q0 a 1 1 t\n";
  qrels += "31 0 a 1\n";
  const std::string a = folder.write("a.run", first), b = folder.write("b.run", second),
                    c = folder.write("c.run", third), judged = folder.write("qrels", qrels);
  const CommandLine words = {"eval", "--compare", a, b, c, judged, "--measures", "map,success.1", "--samples", "1000"};
  const RunOutcome table = run_quern(words);
  INFO(table.err);
  REQUIRE(table.exit_status == 0);
  CHECK(contains(table.err, "b.run: skipped 1 query with judgements but without results"));
  CHECK(lines_of(table.out).size() == 7);
  CHECK(contains(table.out, "Holm(random)"));
  CHECK(run_quern(words).out == table.out);
  const RunOutcome long_name = run_quern({"eval", "--compare", a, b, judged, "--measures", "recip_rank_cut.1000"});
  CHECK(contains(long_name.out, "\nrecip_rank_cut_1000  " + a + "  0.5000\n"));

  CommandLine with_json = words;
  with_json.insert(with_json.end(), {"--json", "--quiet"});
  const RunOutcome outcome = run_quern(with_json);
  CHECK(outcome.err.empty());
  const auto json = outcome.json();
  CHECK(json["queries"] == 30);
  CHECK(json["queries_left_out"] == 1);
  REQUIRE(json["measures"].size() == 2);
  const auto& map = json["measures"][0];
  CHECK(map["measure"] == "map");
  CHECK(map["baseline_mean"] == 0.5);
  const auto& better = map["runs"][0];
  CHECK(better["run"] == b);
  CHECK(better["mean"] == Approx(2.5 / 3));
  CHECK((better["wins"] == 20 && better["ties"] == 10 && better["losses"] == 0));
  CHECK(better["t_test"]["degrees_of_freedom"] == 29);
  CHECK(better["t_test"]["t"] == Approx(1.0 / 3 / std::sqrt((20 * 0.25 - 30 / 9.0) / 29 / 30)));
  CHECK(better["randomization_test"]["exact"] == true);
  CHECK(better["randomization_test"]["p"] == 2.0 / (1 << 20));
  CHECK(better["randomization_test"]["holm_p"] == 4.0 / (1 << 20));
  const auto& worse = map["runs"][1];
  CHECK((worse["wins"] == 0 && worse["ties"] == 15 && worse["losses"] == 15));
  CHECK(json["measures"][1]["runs"][1]["randomization_test"]["p"] == 1);

  with_json.push_back("--complete");
  const auto complete = run_quern(with_json).json();
  CHECK((complete["queries"] == 31 && complete["queries_left_out"] == 0));
  CHECK(complete["measures"][0]["runs"][0]["losses"] == 1);
  CHECK(complete["measures"][0]["runs"][0]["randomization_test"]["tried"] == 1000);
  CHECK(complete["measures"][0]["runs"][0]["randomization_test"]["exact"] == false);
  with_json.insert(with_json.end(), {"--seed", "18446744073709551615"});
  CHECK(run_quern(with_json).json()["seed"] == 18446744073709551615u);
}

TEST_CASE("eval refuses runs and measures that it can't evaluate, and says why", "[cli][evaluation]") {
  const ExampleRun example;
  const std::string twice = example.folder.write("twice.run", "1 Q0 a 1 2 t\n1 Q0 a 2 1 t\n"),
                    other = example.folder.write("other.run", "x Q0 a 1 2 t\n"),
                    nan = example.folder.write("nan.run", "1 Q0 a 1 nan t\n");
  struct Case {
    CommandLine words;
    int exit_status;
    const char* message;
  };
  for (const auto& [words, exit_status, message] :
       {Case{{example.run}, 2, "a run and its judgements are needed: quern eval"},
        Case{{example.run, example.run, example.qrels}, 2, "--compare"},
        Case{{"--compare", example.run, example.qrels}, 2, "two runs"},
        Case{{"-", "-"}, 2, "standard input"},
        Case{{example.run, example.qrels, "--measures", "mapp"}, 2, "recip_rank"},
        Case{
            {example.run, example.qrels, "--measures", "nDCG10"}, 2, "unknown measure 'nDCG10'; did you mean ndcg@10?"},
        Case{{example.run, example.qrels, "--measures", "map ndcg"}, 2, "separate several measures by commas"},
        Case{{example.run, example.qrels, "--measures", "P.0"}, 2, "--measures"},
        Case{{example.run, example.qrels, "--measures", "map,map"}, 2, "twice"},
        Case{{example.run, example.qrels, "--measures", ""}, 2, "--measures"},
        Case{{example.run, example.qrels, "--relevance-level", "0"}, 2, "--relevance-level"},
        Case{{example.run, example.qrels, "--depth", "0"}, 2, "--depth"},
        Case{{example.run, example.qrels, "--seed", "2"}, 2, "--compare"},
        Case{{"--compare", example.run, example.run, example.qrels, "--per-query"}, 2, "--per-query"},
        Case{{"--compare", example.run, example.run, example.qrels, "--measures", "map,num_ret"}, 2, "num_"},
        Case{{twice, example.qrels}, 1, "twice.run, line 2: query 1 has document a already in line 1"},
        Case{{nan, example.qrels}, 1, "nan.run, line 1: "},
        Case{{other, example.qrels}, 1, "no query in common"},
        Case{{example.qrels, example.run}, 1, "example.run, line 1: "},
        Case{{example.folder.path("missing"), example.qrels}, 1, "missing"}}) {
    CommandLine all = words;
    all.insert(all.begin(), "eval");
    const RunOutcome outcome = run_quern(all);
    INFO(outcome.err << " instead of " << message);
    CHECK(outcome.exit_status == exit_status);
    CHECK(outcome.out.empty());
    CHECK(outcome.err.starts_with("quern: error: "));
    CHECK(contains(outcome.err, message));
  }
}

TEST_CASE("eval evaluates the output of query", "[cli][evaluation]") {
  const TemporaryFolder folder;
  const std::string index = folder.path("index"), run = folder.path("run");
  REQUIRE(run_quern({"index", sample_folder + "/corpus", "-o", index}).exit_status == 0);
  REQUIRE(run_quern({"query", index, "-q", sample_folder + "/topics.txt", "-k", "20", "-o", run}).exit_status == 0);
  const RunOutcome outcome = run_quern({"eval", run, sample_folder + "/qrels.txt", "--json"});
  INFO(outcome.err);
  REQUIRE(outcome.exit_status == 0);
  const auto measures = outcome.json()["measures"];
  // The same results in the form of MS MARCO.
  const std::string ranked = folder.path("run.tsv");
  REQUIRE(run_quern({"query", index, "-q", sample_folder + "/topics.txt", "-k", "20", "--output-format", "msmarco",
                     "-o", ranked})
              .exit_status == 0);
  const CommandLine by_rank = {"--measures", "MRR@10,nDCG@10,P@5,R@1000,MAP", "--quiet"};
  const auto values = [&](const std::string& file) {
    CommandLine words = {"eval", file, sample_folder + "/qrels.txt"};
    words.insert(words.end(), by_rank.begin(), by_rank.end());
    return run_quern(words).out;
  };
  CHECK(values(ranked) == values(run));
  CHECK(contains(values(ranked), "recip_rank_cut_10     \tall\t"));
  CHECK(measures["num_q"] > 2);
  CHECK(measures["num_ret"] == lines_of(read_file(run)).size());
  CHECK(measures["map"] > 0.3);
  CHECK(measures["map"] <= 1);
}

TEST_CASE("eval --html writes a page with tables and plots that runs nothing", "[cli][evaluation]") {
  const TemporaryFolder folder;
  const std::string odd = "<script>alert(\"1\")</script>&'\xff";
  std::string qrels, first, second;
  for (int query = 0; query < 30; ++query) {
    const std::string id = query == 7 ? odd : std::to_string(query);
    qrels += id + " 0 a 1\n";
    first += id + " Q0 a 2 1 t\n" + id + " Q0 b 1 2 t\n";
    second += id + " Q0 a 1 " + (query % 3 == 0 ? "1" : "3") + " t\n" + id + " Q0 b 2 2 t\n";
  }
  const std::string a = folder.write("<b>a&.run", first), b = folder.write("b.run", second),
                    judged = folder.write("qrels", qrels), report = folder.path("report.html");
  const CommandLine words = {"eval", "--compare", a, b, judged, "--measures", "MRR@10,map,P", "--html", report};
  const RunOutcome outcome = run_quern(words);
  INFO(outcome.err);
  REQUIRE(outcome.exit_status == 0);
  CHECK(outcome.out == run_quern({"eval", "--compare", a, b, judged, "--measures", "MRR@10,map,P"}).out);
  const std::string page = read_file(report);
  const auto count = [&](const std::string& text) {
    std::size_t found = 0;
    for (std::size_t at = page.find(text); at != page.npos; at = page.find(text, at + 1)) ++found;
    return found;
  };
  for (const char* const unsafe : {"<script", "<b>", "http:", "https:", "src=", "href=", "\xff"}) {
    INFO(unsafe);
    CHECK(count(unsafe) == 0);
  }
  CHECK(count("&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;&#39;\xef\xbf\xbd") == 1);
  CHECK(count("&lt;b&gt;a&amp;.run") == 4);
  CHECK(count("<polyline") == 2);
  CHECK(count("<svg") == 2);
  for (const char* const element : {"table", "tr", "td", "th", "bdi", "svg", "div", "details", "p", "h2"}) {
    INFO(element);
    CHECK(count(std::string("<") + element + ">") + count(std::string("<") + element + " ") ==
          count(std::string("</") + element + ">"));
  }
  // 11 measures in two tables, 30 queries, and three headings.
  CHECK(count("<tr>") == 2 * 11 + 30 + 3);
  CHECK(count("<td>+0.5000</td><td>20</td>") == 0);
  CHECK(count("<tr><td>recip_rank_cut_10</td><td>+0.3333</td><td>20</td><td>10</td><td>0</td>") == 1);
  const auto json = run_quern({"eval", "--compare", a, b, judged, "--measures", "MRR@10", "--json"}).json();
  const auto& test = json["measures"][0]["runs"][0];
  CHECK(count(fmt::format("<td>{:.1e}</td><td>{:.1e}</td></tr>", test["t_test"]["p"].get<double>(),
                          test["randomization_test"]["p"].get<double>())) >= 1);

  CHECK(run_quern(words).exit_status == 1);
  CommandLine forced = words;
  forced.push_back("--force");
  CHECK(run_quern(forced).exit_status == 0);
  CHECK(read_file(report) == page);
  CHECK(run_quern({"eval", a, judged, "--html", a, "--force"}).exit_status == 2);
  REQUIRE(run_quern({"eval", a, judged, "--html", report, "--force"}).exit_status == 0);
  CHECK(contains(read_file(report), "<h2>map by query</h2>"));
  REQUIRE(run_quern({"eval", a, judged, "--html", report, "--force", "--measures", "num_ret"}).exit_status == 0);
  CHECK(contains(read_file(report), "<td>num_ret</td><td>60</td>"));
}

TEST_CASE("fuse combines runs, says what some lack, and refuses what can't be", "[cli][evaluation]") {
  const TemporaryFolder folder;
  const std::string a = folder.write("a.run", page_block("queries/fusion.md", "a")),
                    b = folder.write("b.run", page_block("queries/fusion.md", "b")), out = folder.path("out.run");
  const RunOutcome printed = run_quern({"fuse", a, b});
  CHECK(printed.exit_status == 0);
  CHECK(printed.out == page_block("queries/fusion.md", "rrf"));
  CHECK(contains(printed.err, "b.run: has no results for 1 of 2 queries, which other runs have\n"));
  CHECK(contains(printed.err, "5 of 7 results in 2 queries\n"));
  REQUIRE(run_quern({"fuse", a, b, "--method", "combmnz", "-o", out}).exit_status == 0);
  CHECK(read_file(out) == page_block("queries/fusion.md", "combmnz"));
  CHECK(run_quern({"fuse", a, b, "--quiet", "-k", "1", "--tag", "my run"}).out ==
        "1 Q0 MILL-01 1 0.032266458495966696 my_run\n2 Q0 MILL-01 1 0.01639344262295082 my_run\n");
  Surroundings piped;
  piped.input = gzipped(read_file(b));
  CHECK(run_quern({"fuse", a, "-"}, piped).out == printed.out);
  CHECK(contains(run_quern({"fuse", a, b, "--method", "combsum", "--weights", "0.25,0.75"}).out,
                 "1 Q0 MILL-04 1 0.75 quern\n1 Q0 MILL-02 2 0.5 quern\n1 Q0 MILL-01 3 0.25 quern\n"));
  struct Case {
    CommandLine words;
    int exit_status;
    const char* message;
  };
  for (const auto& [words, exit_status, message] :
       {Case{{a}, 2, "two runs or more"}, Case{{"-", "-"}, 2, "standard input"},
        Case{{a, b, "--weights", "1"}, 2, "1 weight for 2 runs"}, Case{{a, b, "--weights", "1,-1"}, 2, "--weights"},
        Case{{a, b, "--weights", "1,nan"}, 2, "--weights"}, Case{{a, b, "--method", "sum"}, 2, "--method"},
        Case{{a, b, "--normalize", "none"}, 2, "--normalize needs --method"},
        Case{{a, b, "--method", "combsum", "--rrf-k", "1"}, 2, "--rrf-k needs --method rrf"},
        Case{{a, b, "--weights", "1", "-o", out}, 2, "1 weight for 2 runs"},
        Case{{a, b, "--rrf-k", "-1"}, 2, "--rrf-k"}, Case{{a, b, "-k", "0"}, 2, "-k"},
        Case{{a, b, "-o", a, "--force"}, 2, "overwrite"}, Case{{a, b, "-o", out}, 1, "--force"},
        Case{{a, folder.path("missing")}, 1, "missing"}}) {
    CommandLine all = words;
    all.insert(all.begin(), "fuse");
    const RunOutcome outcome = run_quern(all);
    INFO(outcome.err << " instead of " << message);
    CHECK(outcome.exit_status == exit_status);
    CHECK(outcome.out.empty());
    CHECK(contains(outcome.err, message));
  }
}

}  // namespace quern
