#include <nlohmann/json.hpp>

#include "quern/core/random.hpp"

#include "catch.hpp"
#include "cli/run_quern.hpp"

/// Queries that stop early, from the shell.
namespace quern {
namespace {

using namespace testing;

/// An index with given weights in several windows, whole and in three shards, and queries.
struct BudgetIndex {
  BudgetIndex() {
    RandomBits random(41);
    const auto vector = [&](std::size_t size) {
      nlohmann::json weights = nlohmann::json::object();
      for (std::size_t i = 0; i < size; ++i)
        weights["t" + std::to_string(random.below(1 + random.below(60)))] = 1 + random.below(200);
      return weights;
    };
    std::string documents, lines;
    for (int i = 0; i < 20000; ++i)
      documents += nlohmann::json{{"id", "D" + std::to_string(i)}, {"vector", vector(9)}}.dump() + "\n";
    for (int i = 0; i < queries; ++i)
      lines += nlohmann::json{{"id", std::to_string(i)}, {"vector", vector(6)}}.dump() + "\n";
    log = folder.write("queries.jsonl", lines);
    whole = folder.path("whole");
    REQUIRE(
        run_quern({"index", folder.write("documents.jsonl", documents), "--impacts", "8", "-o", whole}).exit_status ==
        0);
    for (const char* number : {"1", "2", "3"}) {
      shards.push_back(folder.path(number));
      REQUIRE(run_quern({"cut", whole, "--shard", number + std::string("/3"), "-o", shards.back()}).exit_status == 0);
    }
  }

  RunOutcome query(const CommandLine& indexes, const CommandLine& more) const {
    CommandLine words = {"query"};
    words.insert(words.end(), indexes.begin(), indexes.end());
    words.insert(words.end(), {"-q", log, "--queries-format", "vector"});
    words.insert(words.end(), more.begin(), more.end());
    return run_quern(words);
  }

  static constexpr int queries = 40;
  TemporaryFolder folder;
  std::string log, whole;
  CommandLine shards;
};

std::vector<nlohmann::json> json_lines(const std::string& text) {
  std::vector<nlohmann::json> all;
  for (const std::string& line : lines_of(text)) all.push_back(nlohmann::json::parse(line));
  return all;
}

/// Queries whose results are not proven. Those that are equal the exact ones; documents that others lack score at most
/// the bound.
int count_unproven(const std::vector<nlohmann::json>& limited, const std::vector<nlohmann::json>& exact) {
  REQUIRE(limited.size() == exact.size());
  int unproven = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    INFO("query " << i);
    REQUIRE(!exact[i].contains("exact"));
    const auto &found = limited[i]["results"], &best = exact[i]["results"];
    REQUIRE(limited[i]["exact"] == limited[i]["bound_left"].is_null());
    if (limited[i]["exact"] == true) {
      REQUIRE(found == best);
      continue;
    }
    ++unproven;
    for (const auto& result : best)
      if (std::none_of(found.begin(), found.end(),
                       [&](const auto& other) { return other["docno"] == result["docno"]; }))
        REQUIRE(result["score"] <= limited[i]["bound_left"]);
  }
  return unproven;
}

}  // namespace

TEST_CASE("with blocks left out, JSON says which results are exact, alike for all numbers of threads",
          "[cli][query][budget]") {
  const BudgetIndex index;
  const CommandLine json = {"--output-format", "json", "-k", "5"};
  const auto exact = json_lines(index.query({index.whole}, json).out);
  for (const CommandLine& indexes : {CommandLine{index.whole}, index.shards})
    for (const char* algorithm : {"auto", "maxscore", "bmp"}) {
      INFO(indexes.size() << " indexes, " << algorithm);
      int before = 0;
      for (const char* percent : {"0", "50", "90", "100"}) {
        INFO(percent << " %");
        CommandLine words = {"--blocks-left-out", percent, "-a", algorithm, "-j", "1"};
        words.insert(words.end(), json.begin(), json.end());
        const RunOutcome outcome = index.query(indexes, words);
        const int unproven = count_unproven(json_lines(outcome.out), exact);
        CHECK(unproven >= before);
        CHECK((unproven == 0) == (std::string(percent) == "0"));
        before = unproven;
        const std::string remark = "the results of " + std::to_string(unproven) + " of 40 queries are not proven exact";
        CHECK(contains(outcome.err, remark) == (unproven > 0));
        words[5] = "3";
        CHECK(index.query(indexes, words).out == outcome.out);
      }
      CommandLine timed = {"--budget-us", "1", "-a", algorithm};
      timed.insert(timed.end(), json.begin(), json.end());
      CHECK(count_unproven(json_lines(index.query(indexes, timed).out), exact) > 0);
      timed[1] = "60000000";
      CHECK(count_unproven(json_lines(index.query(indexes, timed).out), exact) == 0);
    }
}

TEST_CASE("other formats count the results that are not proven exact", "[cli][query][budget]") {
  const BudgetIndex index;
  const std::string stats = index.folder.path("stats.json");
  const RunOutcome outcome = index.query({index.whole}, {"--blocks-left-out", "95", "--stats", stats});
  REQUIRE(outcome.exit_status == 0);
  CHECK(!lines_of(outcome.out).empty());
  CHECK(contains(outcome.err, "not proven exact; --output-format json says of which"));
  CHECK(nlohmann::json::parse(read_file(stats))["unproven"] > 0);
  CHECK(index.query({index.whole}, {"--blocks-left-out", "0"}).out == index.query({index.whole}, {}).out);
}

TEST_CASE("a budget that can't be kept to is a usage error that names the remedy", "[cli][query][budget]") {
  const BudgetIndex index;
  const std::vector<std::pair<CommandLine, const char*>> wrong = {
      {{"--budget-us", "0"}, "--budget-us"},
      {{"--budget-us", "60000001"}, "--budget-us"},
      {{"--budget-us", "nan"}, "--budget-us"},
      {{"--blocks-left-out", "-1"}, "--blocks-left-out"},
      {{"--blocks-left-out", "100.1"}, "--blocks-left-out"},
      {{"--budget-us", "20", "-a", "wand"}, "--algorithm wand can't stop early"},
      {{"--blocks-left-out", "20", "-a", "and-or"}, "need auto, maxscore or bmp"},
      {{"--budget-us", "20", "--device", "gpu"}, "need --device cpu"},
      {{"--budget-us", "20", "--device", "auto"}, "need --device cpu"},
      {{"--blocks-left-out", "20", "--expand", "rm3"}, "can't be combined with --expand or --ranker"}};
  for (const auto& [words, message] : wrong) {
    INFO(words[0] << " " << words[1]);
    const RunOutcome outcome = index.query({index.whole}, words);
    CHECK(outcome.exit_status == 2);
    CHECK(contains(outcome.err, message));
  }
}

}  // namespace quern
