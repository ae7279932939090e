#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "quern/core/random.hpp"

#include "catch.hpp"
#include "cli/run_quern.hpp"
#include "eval/judged_run.hpp"

/// Recall of runs against exact ones.
namespace quern {
namespace {

using namespace testing;

EvaluationOptions exact_options(const std::string& measure) {
  EvaluationOptions options;
  options.exact = true;
  options.measures = measures_named(std::string_view(measure));
  return options;
}

/// Results of one query: document and score.
using Results = std::vector<std::pair<std::string, int>>;

std::string run_text(const std::string& qid, const Results& results) {
  std::string text;
  for (const auto& [docno, score] : results) text += fmt::format("{} Q0 {} 0 {} t\n", qid, docno, score);
  return text;
}

/// The definition of measures.md, document by document.
double plain_recall(const Results& exact, Results run, std::size_t k) {
  std::sort(run.begin(), run.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first > b.first;
  });
  run.resize(std::min(k, run.size()));
  const std::size_t e = std::min(k, exact.size());
  std::size_t found = 0;
  for (const auto& result : run) {
    const auto at =
        std::find_if(exact.begin(), exact.end(), [&](const auto& other) { return other.first == result.first; });
    if (at == exact.end()) continue;
    const auto higher =
        std::count_if(exact.begin(), exact.end(), [&](const auto& other) { return other.second > at->second; });
    found += static_cast<std::size_t>(higher) + 1 <= e;
  }
  return static_cast<double>(std::min(found, e)) / static_cast<double>(e);
}

}  // namespace

TEST_CASE("recall against an exact run follows its definition, with ties", "[evaluation]") {
  RandomBits random(51);
  for (int round = 0; round < 200; ++round) {
    const std::size_t documents = 1 + random.below(12), kinds = 1 + random.below(6);
    Results exact, run;
    for (std::size_t i = 0; i < documents; ++i) {
      const std::string docno = "d" + std::to_string(random.below(2) * 50 + i);
      exact.emplace_back(docno, static_cast<int>(random.below(kinds)));
    }
    for (const auto& result : exact)
      if (random.below(4) > 0) run.emplace_back(result.first, static_cast<int>(random.below(kinds)));
    run.emplace_back("unknown", static_cast<int>(random.below(kinds)));
    for (const std::size_t k : {1, 2, 3, 5, 20}) {
      const Evaluation found =
          evaluate_texts({run_text("1", run)}, run_text("1", exact), exact_options(fmt::format("exact_recall.{}", k)));
      INFO(run_text("1", exact) << "run\n" << run_text("1", run) << "k = " << k);
      CHECK(found.value(0, 0, 0) == plain_recall(exact, run, k));
    }
  }
}

TEST_CASE("an exact run has all of its own results, at any depth", "[evaluation]") {
  const std::string exact = run_text("1", {{"a", 9}, {"b", 7}, {"c", 7}, {"d", 5}});
  for (const char* measure : {"exact_recall.1", "exact_recall.2", "exact_recall.4", "exact_recall.1000"}) {
    const Evaluation found = evaluate_texts({exact}, exact, exact_options(measure));
    CHECK(found.value(0, 0, 0) == 1);
    CHECK(found.open_ties == 0);
  }
  // As measures.md has it.
  const std::string run = run_text("1", {{"c", 3}, {"a", 2}, {"d", 1}});
  CHECK(evaluate_texts({run}, exact, exact_options("exact_recall.2")).value(0, 0, 0) == 1);
  CHECK(evaluate_texts({run}, exact, exact_options("exact_recall.3")).value(0, 0, 0) == Approx(2 / 3.0));
}

TEST_CASE("documents that may tie after the end of an exact run are counted", "[evaluation]") {
  const auto open_ties = [](const Results& exact, const Results& run, const char* measure) {
    return evaluate_texts({run_text("1", run)}, run_text("1", exact), exact_options(measure)).open_ties;
  };
  const Results run = {{"a", 2}, {"x", 1}};
  CHECK(open_ties({{"a", 9}, {"b", 7}}, run, "exact_recall.2") == 1);
  CHECK(open_ties({{"a", 9}, {"b", 7}, {"c", 7}}, run, "exact_recall.2") == 1);
  CHECK(open_ties({{"a", 9}, {"b", 7}, {"c", 6}}, run, "exact_recall.2") == 0);
  CHECK(open_ties({{"a", 9}, {"b", 7}}, run, "exact_recall.1") == 0);
  CHECK(open_ties({{"a", 9}}, run, "exact_recall.2") == 0);  // all documents of the query
}

TEST_CASE("only exact runs give exact_recall, and no other measure", "[evaluation]") {
  const std::string run = run_text("1", {{"a", 1}});
  EvaluationOptions options = exact_options("exact_recall");
  options.exact = false;
  CHECK_THROWS_WITH(evaluate_texts({run}, "1 0 a 1\n", options),
                    Catch::Contains("exact_recall_10 needs an exact run in place of judgements"));
  CHECK_THROWS_WITH(evaluate_texts({run}, run, exact_options("map")),
                    Catch::Contains("map needs judgements; an exact run gives only exact_recall"));
  CHECK_THROWS_WITH(evaluate_texts({run}, "1 Q0 a 1 nan t\n", exact_options("exact_recall")),
                    Catch::Contains("line 1: the score is not a number"));
  CHECK_THROWS_WITH(evaluate_texts({run}, "2 Q0 a 1 3 t\n", exact_options("exact_recall")),
                    Catch::Contains("name the exact results of the run's queries"));
}

TEST_CASE("eval --exact prints recall, per query, and says what it can't tell", "[cli][evaluation]") {
  const TemporaryFolder folder;
  const std::string exact = folder.write("exact", run_text("1", {{"a", 9}, {"b", 7}, {"c", 7}, {"d", 5}}) +
                                                      run_text("2", {{"a", 3}, {"b", 2}}) + run_text("3", {{"a", 1}}));
  const std::string run =
      folder.write("run", run_text("1", {{"c", 3}, {"a", 2}, {"d", 1}}) + run_text("2", {{"x", 2}, {"a", 1}}));
  const RunOutcome outcome = run_quern({"eval", run, "--exact", exact, "--measures", "exact_recall.2", "--per-query"});
  CHECK(outcome.exit_status == 0);
  // Query 3 has no results: it counts as 0.
  CHECK(outcome.out ==
        "exact_recall_2        \t1\t1.0000\nexact_recall_2        \t2\t0.5000\nexact_recall_2        \tall\t0.5000\n");
  CHECK(contains(outcome.err, "for 1 query, results that the exact run doesn't have may tie"));
  const nlohmann::json figures = run_quern({"eval", run, "--exact", exact, "--json", "--quiet"}).json();
  CHECK(figures["exact"] == exact);
  CHECK(figures["measures"]["exact_recall_10"].get<double>() == Approx(1.25 / 3));
  CHECK(contains(run_quern({"eval", "--compare", exact, run, "--exact", exact}).out, "exact_recall_1000"));
  const auto refused = [&](const CommandLine& words, const std::string& message) {
    const RunOutcome failed = run_quern(words);
    INFO(failed.err);
    CHECK(failed.exit_status == 2);
    CHECK(contains(failed.err, message));
  };
  refused({"eval", run, "--exact", exact, "--measures", "map"}, "map needs judgements");
  refused({"eval", run, exact, "--measures", "exact_recall.5"}, "exact_recall_5 needs an exact run");
  refused({"eval", run, "qrels", "--exact", exact}, "--exact takes the place of judgements");
  refused({"eval", run, "--exact", exact, "--html", folder.path("r")}, "--html");
  refused({"eval", "-", "--exact", "-"}, "only one of the files can be -");
}

}  // namespace quern
