#include <fmt/format.h>

#include <map>
#include <set>
#include <sstream>

#include "catch.hpp"
#include "cli/mill_index.hpp"
#include "cli/run_quern.hpp"

/// `quern explain` on the sample, against the scores that `quern query` prints.
namespace quern {
namespace {

using namespace testing;

CommandLine words_of(CommandLine words, const CommandLine& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

std::string output_of(const CommandLine& words) {
  const RunOutcome outcome = run_quern(words_of(words, {"--quiet"}));
  INFO(outcome.err);
  REQUIRE(outcome.exit_status == 0);
  return outcome.out;
}

/// The scores of a run, as texts, by query and document.
using ScoreTexts = std::map<std::pair<std::string, std::string>, std::string>;

ScoreTexts scores_of_run(const CommandLine& indexes, const CommandLine& options) {
  const std::string run =
      output_of(words_of(words_of({"query"}, indexes), words_of({"-k", "5", "--output-format", "trec"}, options)));
  ScoreTexts scores;
  std::istringstream lines(run);
  std::string qid, q0, docno, rank, score, tag;
  while (lines >> qid >> q0 >> docno >> rank >> score >> tag) scores[{qid, docno}] = score;
  return scores;
}

/// Adds up an explanation's numbers as formats/scores.md does.
void check_sum(const nlohmann::json& explanation) {
  const auto number = [](const nlohmann::json& json, const char* name) { return json[name].get<float>(); };
  float sum = explanation.contains("static_score") ? number(explanation, "static_score") : 0;
  if (explanation.contains("alpha")) CHECK(sum == number(explanation, "alpha") * number(explanation, "pagerank"));
  std::uint64_t df = 0;
  for (const auto& term : explanation["terms"]) {
    if (term["df"].is_null()) continue;  // not in the index
    CHECK(term["df"] >= df);
    df = term["df"];
    if (term["f"] > 0) {
      const float f = number(term, "f");
      if (term.contains("impact")) CHECK(number(term, "impact") == f / (number(explanation, "K") + f));
      CHECK(number(term, "term_score") ==
            number(term, "weight") * number(term, term.contains("impact") ? "impact" : "integer"));
      sum += number(term, "term_score");
    } else {
      CHECK(term["term_score"] == 0);
    }
    CHECK(number(term, "sum") == sum);
  }
  if (!explanation["score"].is_null()) CHECK(number(explanation, "score") == sum);
}

/// Explains all documents of a run for all its queries; returns the explanations.
nlohmann::json check_run(const CommandLine& indexes, const CommandLine& options) {
  const ScoreTexts scores = scores_of_run(indexes, options);
  REQUIRE(scores.size() > 3);
  CommandLine words = words_of(words_of({"explain"}, indexes), words_of(options, {"--json"}));
  std::set<std::string> docnos;
  for (const auto& [names, score] : scores) docnos.insert(names.second);
  for (const std::string& docno : docnos) words = words_of(words, {"--docno", docno});
  const auto explanations = nlohmann::json::parse(output_of(words));
  std::size_t found = 0;
  for (const auto& explanation : explanations) {
    check_sum(explanation);
    const auto result = scores.find({explanation["id"], explanation["docno"]});
    if (result == scores.end()) continue;
    ++found;
    CHECK(fmt::format("{}", explanation["score"].get<float>()) == result->second);
  }
  CHECK(found == scores.size());
  return explanations;
}

}  // namespace

TEST_CASE("explain adds up to the scores of query, to the last bit", "[cli][query]") {
  const TemporaryFolder folder;
  const std::string index = folder.path("index");
  output_of({"index", sample_folder + "/corpus", "--quantize", "8", "--order", "score", "-o", index});
  const CommandLine queries = {"-q", sample_folder + "/topics.txt"};
  check_run({index}, queries);
  check_run({index}, words_of(queries, {"--k1", "2.5", "--b", "0.1", "--idf", "robertson"}));
  check_run({index}, words_of(queries, {"--scores", "quantized"}));
  check_run({index}, words_of(queries, {"--scorer", "bm25+pagerank", "--alpha", "0.4"}));
  check_run({index}, {"--queries-format", "vector", "--query", R"({"mill": 0.7, "water": 2.5, "nowhere": 1})"});
  // The statistics are those of the whole collection.
  CommandLine shards;
  for (const char* const number : {"1", "2", "3"}) {
    shards.push_back(folder.path(number));
    output_of({"cut", index, "--shard", std::string(number) + "/3", "-o", shards.back()});
  }
  for (const CommandLine& options : {queries, words_of(queries, {"--scorer", "bm25+pagerank"})}) {
    auto whole = check_run({index}, options), parts = check_run(shards, options);
    for (auto* explanations : {&whole, &parts})
      for (auto& explanation : *explanations)
        std::erase_if(explanation["terms"].get_ref<nlohmann::json::array_t&>(),
                      [](const auto& term) { return term["f"] == 0; });  // a shard may lack the term
    CHECK(whole == parts);
  }
}

TEST_CASE("explain adds up given weights", "[cli][query]") {
  const TemporaryFolder folder;
  std::string corpus_text;
  for (int i = 0; i < 40; ++i)
    corpus_text += fmt::format("{{\"id\":\"d{}\",\"vector\":{{\"a\":{},\"b\":{}}}}}\n", i, 1 + i % 7, 1 + i * i % 11);
  const std::string index = folder.path("index");
  output_of({"index", folder.write("c.jsonl", corpus_text), "--impacts", "8", "-o", index});
  check_run({index}, {"--queries-format", "vector", "--query", R"({"a": 2, "b": 3})"});
  check_run({index}, {"--queries-format", "vector", "--query-scale", "10", "--query", R"({"a": 0.25, "b": 0.31})"});
}

TEST_CASE("explain prints columns, and says what has no score", "[cli][query]") {
  const TemporaryFolder folder;
  const std::string index = folder.path("index");
  output_of({"index", sample_folder + "/corpus", "-o", index});
  const std::string text = output_of({"explain", index, "--query", "water mill nowhere", "--docno", "MILL-0785"});
  for (const char* const part : {"document MILL-0785", "length 279", "K 1.7651309 ", "1000 documents", "2.7445703",
                                 "0.798619 ", "2.191866 ", "0.6938264", "1.0159216", "\nscore 3.2077875\n"}) {
    INFO(text);
    CHECK(contains(text, part));
  }
  CHECK(contains(output_of({"explain", index, "--query", "nowhere", "--docno", "MILL-0785"}),
                 "no score: the document contains none of the terms"));
  for (const auto& [words, exit_status, message] :
       {std::tuple<CommandLine, int, const char*>{{"--docno", "none", "--query", "mill"}, 1, "has no document none"},
        {{"--query", "mill"}, 2, "--docno"},
        {{"--docno", "MILL-0785"}, 2, "--query"},
        {{"--docno", "MILL-0785", "--query", "mill", "--scores", "quantized"}, 1, "--quantize"},
        {{"--docno", "MILL-0785", "--query", "mill", "--alpha", "0.5"}, 2, "--scorer"},
        {{"--docno", "MILL-0785", "--query", "{\"mill\": -1}", "--queries-format", "vector"}, 1, "mill"}}) {
    const RunOutcome outcome = run_quern(words_of({"explain", index}, words));
    INFO(outcome.err);
    CHECK(outcome.exit_status == exit_status);
    CHECK(contains(outcome.err, message));
    CHECK(outcome.out.empty());
  }
}

}  // namespace quern
