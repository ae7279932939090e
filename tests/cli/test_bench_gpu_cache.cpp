#include <filesystem>

#include "catch.hpp"
#include "cli/bench_environment.hpp"
#include "cli/run_quern.hpp"

/// quern bench gpu-cache from the shell: what needs no GPU.
namespace quern {
namespace {

using namespace testing;

struct SampleIndex {
  TemporaryFolder folder;
  std::string index = folder.path("index");

  SampleIndex() { REQUIRE(run_quern({"index", sample_folder + "/corpus", "-o", index}).exit_status == 0); }
};

}  // namespace

TEST_CASE("bench gpu-cache --replay has a row for each memory, batch and cache", "[cli][measure]") {
  const SampleIndex sample;
  const RunOutcome outcome = run_quern({"bench", "gpu-cache", sample.index, "-q", sample_folder + "/topics.txt",
                                        "--replay", "--memories", "20%,100%", "--batches", "1,4", "--json", "--quiet"});
  INFO(outcome.err);
  REQUIRE(outcome.exit_status == 0);
  const auto json = outcome.json();
  check_environment(json["environment"]);
  REQUIRE(json["replays"].size() == 2 * 2 * 3);
  for (const auto& row : json["replays"]) {
    CHECK(row["copied_bytes"] <= row["needed_bytes"]);
    // Without resident lists, all are copied, but those of another batch in flight; with memory for all, each once.
    if (row["cache"] == "none" && row["batch"] == 1) CHECK(row["copied_bytes"] == row["needed_bytes"]);
    if (row["memory"] == "100%") CHECK(row["evicted"] == 0);
  }
  const RunOutcome nothing = run_quern({"bench", "gpu-cache", sample.index, "--replay", "--query", "zzunknown"});
  CHECK(nothing.exit_status == 1);
  CHECK(contains(nothing.err, "none of the 1 queries has all of its terms"));
}

TEST_CASE("bench gpu-cache --replay refuses options that it has no use for", "[cli][measure]") {
  for (const auto& [option, value] : std::vector<std::pair<std::string, std::string>>{{"--list-buffers", "1%"},
                                                                                      {"--part", "single"},
                                                                                      {"--base", "k=5"},
                                                                                      {"--gpu-options", "cache=lru"},
                                                                                      {"--scores", "exact"},
                                                                                      {"--idf", "robertson"},
                                                                                      {"--points", "points"},
                                                                                      {"--train", "log"},
                                                                                      {"--policies", "none"},
                                                                                      {"--ks", "5"}}) {
    const RunOutcome outcome = run_quern({"bench", "gpu-cache", "x", "--query", "mill", "--replay", option, value});
    INFO(outcome.err);
    CHECK(outcome.exit_status == 2);
    CHECK(contains(outcome.err, option));
    CHECK(contains(outcome.err, "can't be combined with"));
  }
}

TEST_CASE("bench gpu-cache needs a GPU, and knows wrong values", "[cli][measure]") {
  const SampleIndex sample;
  Surroundings no_gpu;
  no_gpu.variables = {{"CUDA_VISIBLE_DEVICES", ""}};
  const TemporaryFolder folder;
  const auto bench = [&](const CommandLine& options) {
    CommandLine words = {"bench",
                         "gpu-cache",
                         sample.index,
                         "--train",
                         sample_folder + "/query_log.txt",
                         "-q",
                         sample_folder + "/topics.txt"};
    words.insert(words.end(), options.begin(), options.end());
    return run_quern(words, no_gpu);
  };
  const RunOutcome without =
      bench({"--points", folder.path("points"), "--idf", "robertson", "--list-buffers", "1M,5%"});
  CHECK(without.exit_status == 1);
  CHECK(without.out.empty());
  CHECK(contains(without.err, "use quern query --device cpu"));
  CHECK_FALSE(std::filesystem::exists(folder.path("points")));
  for (const CommandLine& wrong : {CommandLine{"--part", "all"},
                                   {"--memories", "much"},
                                   {"--list-buffers", "much"},
                                   {"--policies", "best"},
                                   {"--batches", "0"},
                                   {"--lambdas", "2"},
                                   {"--ks", "0"},
                                   {"--limits", "-5"},
                                   {"--gpu-options", "strategy=wang", "-a", "or"}}) {
    INFO(wrong.front() << " " << wrong.back());
    CHECK(bench(wrong).exit_status == 2);
  }
}

}  // namespace quern
