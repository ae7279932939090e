#include <cstdlib>
#include <filesystem>
#include <regex>

#include "catch.hpp"
#include "cli/bench_environment.hpp"
#include "cli/run_quern.hpp"
#include "gpu/skip_without_gpu.hpp"

/// bench rerank from the shell: its output, arguments that it refuses, and its plots. Times must be present; their
/// values are not checked.
namespace quern {

namespace {

using namespace testing;

}  // namespace

TEST_CASE("bench rerank prints a row for each ranker, number of documents and number of threads", "[cli][measure]") {
  const RunOutcome outcome =
      run_quern({"bench", "rerank", "--ranker", "R-M-BGD,R-S-BLG", "--trees", "30", "--leaves", "8", "--features", "20",
                 "--docs", "3,70", "--repeats", "1", "-j", "2", "--device", "cpu", "--json"});
  INFO(outcome.err);
  REQUIRE(outcome.exit_status == 0);
  const nlohmann::json json = nlohmann::json::parse(outcome.out);
  check_environment(json["environment"]);
  REQUIRE(json["rankers"].size() == 3);
  CHECK(json["rankers"][1]["buckets"] == 10);
  CHECK(json["rankers"][2]["leaves"] == 8);
  REQUIRE(json["results"].size() == 12);
  for (const auto& row : json["results"]) {
    CHECK(row["device"] == "cpu");
    CHECK(row["ns_per_document"] > 0);
    CHECK(row["documents_per_second"] > 0);
    CHECK(row["stages"].is_null() == (row["threads"] == 2));
    CHECK((row["joules_per_million_documents"].is_null() || row["joules_per_million_documents"] > 0));
  }
  CHECK(json["results"][0]["ranker"] == "R-S-BLG");
  CHECK(json["results"][3]["documents"] == 70);
  const RunOutcome table =
      run_quern({"bench", "rerank", "--trees", "5", "--docs", "40", "--repeats", "1", "-j", "1", "--device", "cpu"});
  REQUIRE(table.exit_status == 0);
  CHECK(contains(std::regex_replace(table.out, std::regex(" +"), " "), "\n5 trees cpu 1 40 "));
  const RunOutcome unknown = run_quern({"bench", "rerank", "--ranker", "R-XL"});
  CHECK(unknown.exit_status == 2);
  CHECK(contains(unknown.err, "R-M-BGD"));
}

TEST_CASE("bench rerank refuses a GPU that does not exist, and options of GPUs without one", "[cli][measure]") {
  const RunOutcome missing = run_quern({"bench", "rerank", "--trees", "5", "--device", "gpu", "--gpu", "1000"});
  CHECK(missing.exit_status == 1);
  CHECK(missing.out.empty());
  CHECK(contains(missing.err, "--device cpu"));
  const RunOutcome fast = run_quern({"bench", "rerank", "--trees", "5", "--device", "cpu", "--fast-math"});
  CHECK(fast.exit_status == 1);
  CHECK(contains(fast.err, "--fast-math"));
  CHECK(run_quern({"bench", "rerank", "--trees", "5", "--device", "tpu"}).exit_status == 2);
}

TEST_CASE("bench rerank measures CPU and GPU, and models that don't fit on the CPU", "[gpu][cli][measure]") {
  SKIP_WITHOUT_GPU();
  const CommandLine words = {"bench", "rerank", "--ranker", "R-M-BGD,R-L-D", "--leaves",
                             "8",     "--docs", "3,700",    "--repeats",     "1",
                             "-j",    "2",      "--json"};
  const RunOutcome outcome = run_quern(words);
  INFO(outcome.err);
  REQUIRE(outcome.exit_status == 0);
  const nlohmann::json json = nlohmann::json::parse(outcome.out);
  REQUIRE(json["results"].size() == 12);
  for (std::size_t i = 8; i < 12; ++i) {
    const auto& row = json["results"][i];
    CHECK(row["device"] == "gpu");
    CHECK(row["scored_on"] == "gpu");
    CHECK(row["stages"]["copy_in_us"] > 0);
    CHECK(row["stages"]["trees_us"] > 0);
    CHECK(row["stages"]["layers_us"] > 0);
  }
  REQUIRE(json["summaries"].size() == 2);
  CHECK(json["mean_speedup"] > 0);
  CommandLine small = words;
  small.insert(small.end(), {"--ranker-memory", "1000", "--device", "gpu"});
  const RunOutcome refused = run_quern(small);
  REQUIRE(refused.exit_status == 0);
  for (const auto& row : nlohmann::json::parse(refused.out)["results"]) CHECK(row["scored_on"] == "cpu");
}

TEST_CASE("bench rerank is plotted if matplotlib is installed, with a GPU's stages and energy", "[cli][measure]") {
  if (std::system("/usr/bin/python3 -c 'import matplotlib' 2>/dev/null") != 0) {
    WARN("skipped: no matplotlib");
    return;
  }
  const TemporaryFolder folder;
  nlohmann::json bench = run_quern({"bench", "rerank", "--trees", "9", "--docs", "1,50", "--repeats", "1", "-j", "2",
                                    "--device", "cpu", "--json"})
                             .json();
  const auto draw = [&](const std::string& name) {
    const std::string command = std::string(QUERN_SOURCE_DIR) + "/scripts/plot -o " + folder.path("plots") + " " +
                                folder.write(name + ".json", bench.dump()) + " > " + folder.path("printed");
    REQUIRE(std::system(command.c_str()) == 0);
  };
  const auto drawn = [&](const std::string& name) {
    return std::filesystem::exists(folder.path("plots/" + name + ".svg"));
  };
  draw("cpu");
  CHECK(contains(read_file(folder.path("plots/cpu_time.svg")), "CPU, 2 threads"));
  CHECK_FALSE(drawn("cpu_speedup"));
  CHECK_FALSE(drawn("cpu_stages"));
  for (const unsigned documents : {1u, 50u})
    bench["results"].push_back(
        {{"ranker", "9 trees"},
         {"device", "gpu"},
         {"scored_on", "gpu"},
         {"threads", 1},
         {"documents", documents},
         {"us_per_query", 20},
         {"joules_per_million_documents", 3.5},
         {"stages", {{"copy_in_us", 5}, {"inputs_us", 1}, {"trees_us", 2}, {"layers_us", 0}, {"copy_out_us", 1}}}});
  bench["gpu"] = "GPU of a test";
  draw("gpu");
  for (const char* name : {"gpu_time", "gpu_speedup", "gpu_stages", "gpu_energy"}) {
    INFO(name);
    CHECK(contains(read_file(folder.path(std::string("plots/") + name + ".svg")), "GPU of a test"));
  }
}

}  // namespace quern
