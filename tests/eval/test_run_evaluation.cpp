#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "quern/core/error.hpp"

#include "catch.hpp"
#include "eval/judged_run.hpp"
#include "formats/page_example.hpp"

namespace quern {
namespace {

using testing::evaluate_texts;

EvaluationOptions measured_by(const std::vector<std::string>& measures) {
  EvaluationOptions options;
  options.measures = measures_named(measures);
  return options;
}

/// The value of one measure for one query of one run.
double run_value(const std::string& run, const std::string& qrels, const std::string& measure,
                 EvaluationOptions options = {}) {
  options.measures = measures_named(std::string_view(measure));
  const Evaluation evaluation = evaluate_texts({run}, qrels, options);
  REQUIRE(evaluation.qids.size() == 1);
  return evaluation.value(0, 0, 0);
}

const char* const small_qrels = "1 0 a 1\n1 0 b 0\n";

}  // namespace

TEST_CASE("The worked example of measures.md has the values on the page", "[evaluation][format]") {
  const auto block = [](const char* name) { return testing::page_block("queries/measures.md", name); };
  const Evaluation evaluation =
      evaluate_texts({block("run")}, block("qrels"), measured_by({"map", "bpref", "ndcg", "ndcg_cut.2"}));
  CHECK(evaluation.qids == std::vector<std::string>{"1", "2", "3", "4"});
  CHECK(evaluation.runs[0].has_results == std::vector<bool>{true, true, true, false});
  CHECK(evaluation.runs[0].unjudged_queries == 1);
  CHECK(evaluation.runs[0].tag == "example");
  CHECK(evaluation.num_evaluated(0) == 3);
  std::string lines;
  for (std::size_t query = 0; query < 3; ++query)
    for (std::size_t measure = 0; measure < 4; ++measure)
      lines += fmt::format("{:<22}\t{}\t{:.4f}\n", evaluation.measures[measure].name(), evaluation.qids[query],
                           evaluation.value(0, query, measure));
  for (std::size_t measure = 0; measure < 4; ++measure)
    lines += fmt::format("{:<22}\tall\t{:.4f}\n", evaluation.measures[measure].name(),
                         evaluation.summary(0, measure, false));
  CHECK(lines == block("values"));
}

TEST_CASE("Summaries count queries without results only where all count", "[evaluation]") {
  const Evaluation evaluation =
      evaluate_texts({"1 Q0 a 1 2 t\n1 Q0 b 2 1 t\n"}, "1 0 a 1\n2 0 a 1\n2 0 b 1\n3 0 a 0\n",
                     measured_by({"num_q", "num_ret", "num_rel", "num_rel_ret", "map", "gm_map"}));
  const auto summaries = [&](bool complete) {
    std::vector<double> values;
    for (std::size_t measure = 0; measure < evaluation.measures.size(); ++measure)
      values.push_back(evaluation.summary(0, measure, complete));
    return values;
  };
  CHECK(summaries(false) == std::vector<double>{1, 2, 1, 1, 1, 1});
  const std::vector<double> all = summaries(true);
  CHECK(std::vector<double>(all.begin(), all.end() - 1) == std::vector<double>{3, 2, 3, 1, 1.0 / 3});
  CHECK(all.back() == Approx(std::cbrt(1e-10)).epsilon(1e-14));
}

TEST_CASE("Results count in the order of their scores, ties by decreasing docno", "[evaluation][reports]") {
  const auto rank_as = [](const std::string& run, TrecEval version) {
    EvaluationOptions options;
    options.version = version;
    return 1 / run_value(run, small_qrels, "recip_rank", options);
  };
  const auto rank = [&](const std::string& run) { return rank_as(run, TrecEval::v10); };
  // Ranks and the order of lines do not matter.
  CHECK(rank("1 Q0 a 1 1 t\n1 Q0 b 2 2 t\n") == 2);
  CHECK(rank("1 Q0 b 2 1 t\n1 Q0 a 9 2 t\n") == 1);
  CHECK(rank("1 Q0 a 1 -2 t\n1 Q0 b 2 -1e3 t\n") == 1);
  CHECK(rank("1 Q0 a 1 5 t\n1 Q0 b 2 5 t\n") == 2);
  CHECK(rank("1 Q0 b 1 5 t\n1 Q0 a 2 5 t\n") == 2);
  CHECK(rank("1 Q0 a 1 0 t\n1 Q0 b 2 -0 t\n") == 2);
  // Equal as float32, which was the precision up to trec_eval 9.
  for (const char* run : {"1 Q0 a 1 16777217 t\n1 Q0 b 2 16777216 t\n",
                          "1 Q0 a 1 20.1234567 t\n1 Q0 b 2 20.1234566 t\n", "1 Q0 a 1 -1e39 t\n1 Q0 b 2 -inf t\n"}) {
    INFO(run);
    CHECK(rank_as(run, TrecEval::v10) == 1);
    CHECK(rank_as(run, TrecEval::v9) == 2);
  }
  CHECK(rank_as("1 Q0 a 1 16777218 t\n1 Q0 b 2 16777216 t\n", TrecEval::v9) == 1);
  CHECK(rank("1 Q0 a 1 -inf t\n1 Q0 b 2 inf t\n1 Q0 c 3 0 t\n") == 3);
  // Docnos are compared as bytes.
  CHECK(1 / run_value("1 Q0 \xc3\xa9 1 5 t\n1 Q0 z 2 5 t\n", "1 0 z 1\n", "recip_rank") == 2);
  CHECK(1 / run_value("1 Q0 d10 1 5 t\n1 Q0 d9 2 5 t\n1 Q0 d 3 5 t\n", "1 0 d 1\n", "recip_rank") == 3);
}

TEST_CASE("The depth cuts the sorted run, and the level sets the minimum relevance", "[evaluation]") {
  const std::string run = "1 Q0 a 1 1 t\n1 Q0 b 2 3 t\n1 Q0 c 3 2 t\n", qrels = "1 0 a 2\n1 0 b 1\n1 0 c -1\n";
  EvaluationOptions options;
  options.depth = 2;
  CHECK(run_value(run, qrels, "num_ret", options) == 2);
  CHECK(run_value(run, qrels, "num_rel", options) == 2);
  CHECK(run_value(run, qrels, "map", options) == 0.5);
  options.relevance_level = 2;
  CHECK(run_value(run, qrels, "num_rel", options) == 1);
  CHECK(run_value(run, qrels, "map", options) == 0);
  options.depth = 3;
  CHECK(run_value(run, qrels, "map", options) == Approx(1.0 / 3));
}

TEST_CASE("Errors in a run or judgements are reported with their line", "[evaluation]") {
  const std::string run = "1 Q0 a 1 2 t\n1 Q0 b 2 1 t\n";
  const auto message = [](const std::string& bad_run, const std::string& bad_qrels) -> std::string {
    try {
      evaluate_texts({bad_run}, bad_qrels);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  CHECK(message(run, small_qrels) == "no error");
  CHECK(message(run + "\n1 Q0 a 3 0.5 t\n", small_qrels) ==
        "run1, line 4: query 1 has document a already in line 1; remove one of them");
  CHECK(message(run, std::string(small_qrels) + "2 0 a 1\n1 0 b 1\n") ==
        "qrels, line 4: query 1 has document b already in line 2; keep one judgement of "
        "each document, also where column 2 is a subtopic");
  CHECK(message(run + "1 Q0 c 3 nan t\n", small_qrels) ==
        "run1, line 3: the score is not a number, so the result has no rank");
  CHECK(message(run + "1 Q0 c 3\n", small_qrels).starts_with("run1, line 3: "));
  CHECK(message(run + "1 Q0 c 3 1,5 t\n", small_qrels).starts_with("run1, line 3: "));
  CHECK(message(run, "1 0 a 1\n1 0 b\n").starts_with("qrels, line 2: "));
  CHECK(message("# made by hand\n" + run, "#\n\n# judged by hand\n" + std::string(small_qrels)) == "no error");
  CHECK(message(run, "2 0 a 1\n") ==
        "run1 and qrels have no query in common: the run begins with query 1, the judgements with query 2; name the "
        "judgements of the run's queries");
  CHECK(message("\n", small_qrels) == "run1 has no results; name a run that does");
  CHECK(message(run, "") == "qrels has no judgements; name the judgements of the run's queries");
  CHECK(message(run, std::string("1 0 a\0b 1\n", 10)).starts_with("qrels, line 1: "));
  CHECK(message(std::string("1\0 Q0 a 1 2 t\n", 14), small_qrels).starts_with("run1, line 1: "));
  // A document in two runs, or for two queries, is not a duplicate.
  CHECK_NOTHROW(evaluate_texts({run, run}, small_qrels));
  CHECK_NOTHROW(evaluate_texts({run + "2 Q0 a 1 1 t\n"}, std::string(small_qrels) + "2 0 a 1\n"));
}

TEST_CASE("Options out of range are refused", "[evaluation]") {
  const auto refused = [](const EvaluationOptions& options) {
    CHECK_THROWS_AS(evaluate_texts({"1 Q0 a 1 2 t\n"}, small_qrels, options), InvalidArgument);
  };
  EvaluationOptions options;
  options.relevance_level = 0;
  refused(options);
  options.relevance_level = -5;
  refused(options);
  options = {};
  options.depth = 0;
  refused(options);
  options = {};
  options.measures.clear();
  refused(options);
}

TEST_CASE("A run has the same values for any order of lines, any memory, and any other runs",
          "[evaluation][property]") {
  std::mt19937 random(11);
  std::vector<std::string> run_lines, other_lines, qrel_lines;
  for (int query = 0; query < 40; ++query) {
    std::set<int> documents, judged;
    while (documents.size() < 900) documents.insert(static_cast<int>(random() % 5000));
    while (judged.size() < 60) judged.insert(static_cast<int>(random() % 5000));
    for (const int document : documents) {
      const auto line = [&] { return fmt::format("q{} Q0 document-{} 0 {} t\n", query, document, random() % 50); };
      run_lines.push_back(line());
      other_lines.push_back(line());
    }
    for (const int document : judged)
      qrel_lines.push_back(fmt::format("q{} 0 document-{} {}\n", query, document, random() % 3));
  }
  const auto text = [](const std::vector<std::string>& lines) {
    std::string all;
    for (const std::string& line : lines) all += line;
    return all;
  };
  const std::string run = text(run_lines), other = text(other_lines), qrels = text(qrel_lines);
  const Evaluation alone = evaluate_texts({run}, qrels);
  REQUIRE(alone.qids.size() == 40);
  std::shuffle(run_lines.begin(), run_lines.end(), random);
  std::shuffle(qrel_lines.begin(), qrel_lines.end(), random);
  // 1 MiB is the minimum for sorting: most rows go to disk.
  const Evaluation shuffled = evaluate_texts({other, text(run_lines)}, text(qrel_lines), {}, 1 << 20);
  CHECK(shuffled.qids == alone.qids);
  CHECK(shuffled.runs[1].values == alone.runs[0].values);
  CHECK(shuffled.runs[0].values != alone.runs[0].values);
  CHECK(evaluate_texts({other}, qrels).runs[0].values == shuffled.runs[0].values);
}

TEST_CASE("A query or values that do not fit in the memory are refused with a remedy", "[evaluation]") {
  std::string run, many_queries, qrels = "1 0 d0 1\n", many_qrels;
  for (int i = 0; i < 20'000; ++i) run += fmt::format("1 Q0 d{} 1 {} t\n", i, i % 7);
  CHECK_NOTHROW(evaluate_texts({run}, qrels, {}, 4 << 20));
  CHECK_THROWS_WITH(evaluate_texts({run}, qrels, {}, 1 << 20),
                    Catch::Contains(std::string("query 1 has 20001 results and judgements, which need ") +
                                    option_name<"memory"> + " 3.1M or more"));
  for (int i = 0; i < 2000; ++i) many_qrels += fmt::format("{} 0 d 1\n", i);
  CHECK_NOTHROW(evaluate_texts({"1 Q0 d 1 1 t\n"}, many_qrels, {}, 8 << 20));
  CHECK_THROWS_WITH(evaluate_texts({"1 Q0 d 1 1 t\n"}, many_qrels, {}, 1 << 20),
                    Catch::Contains(option_name<"measures">));
}

TEST_CASE("A run of MS MARCO has the values of its ranks", "[evaluation]") {
  std::string trec, ranked, qrels;
  std::mt19937 random(11);
  for (int query = 0; query < 50; ++query) {
    qrels += fmt::format("{}\t0\td{}\t1\n", query, random() % 30);
    for (int rank = 1; rank <= 20; ++rank) {
      trec += fmt::format("{} Q0 d{} {} {} t\n", query, 30 - rank, rank, 100 - rank);
      ranked += fmt::format("{}\td{}\t{}\n", query, 30 - rank, rank);
    }
  }
  const EvaluationOptions options = measured_by({"MRR@10", "recip_rank", "ndcg", "recall.10"});
  const Evaluation evaluation = evaluate_texts({trec, ranked}, qrels, options);
  CHECK(evaluation.runs[0].values == evaluation.runs[1].values);
  CHECK(evaluation.summary(0, 0, false) > 0);
  CHECK(evaluation.summary(0, 0, false) < evaluation.summary(0, 1, false));
  CHECK(evaluation.runs[0].has_scores);
  CHECK_FALSE(evaluation.runs[1].has_scores);
  // Ranks order the results, not lines.
  CHECK(run_value("1\tb\t2\n1\ta\t1\n", small_qrels, "recip_rank") == 1);
  CHECK(run_value("1\tb\t16777216\n1\ta\t16777217\n", small_qrels, "recip_rank", {.version = TrecEval::v9}) == 0.5);
  CHECK_THROWS_WITH(evaluate_texts({"1\tb\t1\n1\ta\t1\n"}, small_qrels),
                    Catch::Contains("query 1 has two results with the same rank"));
}

}  // namespace quern
