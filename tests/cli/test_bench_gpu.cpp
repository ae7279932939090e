#include <cstdlib>

#include "catch.hpp"
#include "cli/bench_environment.hpp"
#include "cli/run_quern.hpp"
#include "gpu/skip_without_gpu.hpp"

/// Benchmarks of GPUs from the shell, and the plot of several.
namespace quern {

using namespace testing;

TEST_CASE("benchmarks of GPUs say that there is none", "[cli][measure]") {
  const SampleIndexes indexes;
  Surroundings no_gpu;
  no_gpu.variables = {{"CUDA_VISIBLE_DEVICES", ""}};
  for (const CommandLine& words :
       {CommandLine{"gpu", indexes.newpfd, "--query", "mill", "--idf", "robertson"},
        {"stream", indexes.newpfd, "--query", "mill", "--device", "gpu", "--idf", "robertson"},
        {"gpu-decode", indexes.newpfd},
        {"gpu-decode", "--lookups", "100"},
        {"gpu-intersect", indexes.newpfd, "--query", "mill"}}) {
    CommandLine all = {"bench"};
    all.insert(all.end(), words.begin(), words.end());
    const RunOutcome outcome = run_quern(all, no_gpu);
    INFO(words.front() << ": " << outcome.err);
    CHECK(outcome.exit_status == 1);
    CHECK(outcome.out.empty());
    CHECK((contains(outcome.err, "no GPU") || contains(outcome.err, "built without CUDA")));
  }
  CHECK(run_quern({"bench", "gpu-decode"}).exit_status == 2);
}

TEST_CASE("benchmarks of GPUs have a row for each set-up, and tables of them", "[gpu][cli][measure]") {
  SKIP_WITHOUT_GPU();
  const SampleIndexes indexes;
  const std::string topics = sample_folder + "/topics.txt";
  struct Case {
    CommandLine words;
    const char* key;
    std::size_t rows;
    const char* head;
  };
  const std::vector<Case> cases = {
      {{"gpu", indexes.newpfd, "-q", topics, "-a", "or,and", "--batches", "1,64"}, "set_ups", 4, "of the bound"},
      {{"gpu-decode", indexes.newpfd, "--least-postings", "100"}, "groups", 1, "share of copy"},
      {{"gpu-decode", "--lookups", "100,1000", "--longer", "1,4"}, "lookups", 4, "elements"},
      {{"gpu-intersect", indexes.newpfd, "-q", topics, "--methods", "adaptive", "--batches", "1,64"}, "gpu", 2, "G/s"}};
  for (const Case& one : cases) {
    CommandLine words = {"bench"};
    words.insert(words.end(), one.words.begin(), one.words.end());
    words.insert(words.end(), {"--repeats", "1", "--quiet"});
    const RunOutcome table = run_quern(words);
    INFO(one.words.front() << ": " << table.err);
    CHECK(table.exit_status == 0);
    CHECK(contains(table.out, one.head));
    words.push_back("--json");
    CHECK(run_quern(words).json()[one.key].size() == one.rows);
  }
}

TEST_CASE("bench gpu measures GPUs that divide an index's shards, without plans or times", "[gpu][cli][measure]") {
  SKIP_WITHOUT_GPU();
  const SampleIndexes indexes;
  CommandLine words = {"bench", "gpu"};
  for (const std::string part : {"1/2", "2/2"}) {
    words.push_back(indexes.folder.path("shard" + part.substr(0, 1)));
    REQUIRE(run_quern({"cut", indexes.newpfd, "--shard", part, "-o", words.back(), "--quiet"}).exit_status == 0);
  }
  words.insert(words.end(), {"-q", sample_folder + "/topics.txt", "--repeats", "1", "--quiet"});
  CommandLine measured = words;
  measured.insert(measured.end(), {"-a", "or,and,and-or", "-k", "3,1000", "--batches", "1,7", "--json"});
  const nlohmann::json bench = run_quern(measured).json();
  CHECK(bench["shards"] == 2);
  CHECK(bench["set_ups"].size() == 12);
  for (const auto& [option, value] : {std::pair("--plan", "my.plan"), {"--times", "times.tsv"}}) {
    CommandLine refused = words;
    refused.insert(refused.end(), {option, indexes.folder.path(value)});
    const RunOutcome outcome = run_quern(refused);
    INFO(outcome.err);
    CHECK(outcome.exit_status == 1);
    CHECK(contains(outcome.err, "index"));
  }
}

TEST_CASE("the speed of several GPUs is plotted if matplotlib is installed", "[cli][measure]") {
  if (std::system("/usr/bin/python3 -c 'import matplotlib' 2>/dev/null") != 0) {
    WARN("skipped: no matplotlib");
    return;
  }
  const TemporaryFolder folder;
  const auto bench = [](unsigned shards, std::initializer_list<unsigned> gpus) {
    nlohmann::json json = {
        {"bench", "gpu"},
        {"shards", shards},
        {"gpus", {"GPU of a test"}},
        {"index", {{"documents", 7}, {"order", "url"}, {"codec", "rice"}, {"block_size", 64}}},
        {"environment", {{"processor", "x"}, {"cores", 1}, {"version", "0"}, {"date", "2026-01-01"}}}};
    for (const unsigned count : gpus)
      json["set_ups"].push_back({{"gpus", count},
                                 {"gpu_memory", "all"},
                                 {"algorithm", "bmw"},
                                 {"k", 10},
                                 {"batch_queries", 64},
                                 {"queries", 100},
                                 {"queries_per_second", 100 * count},
                                 {"kernel_queries_per_second", 120 * count}});
    return json.dump();
  };
  const std::string command = std::string(QUERN_SOURCE_DIR) + "/scripts/plot -o " + folder.path("plots") + " " +
                              folder.write("whole.json", bench(1, {1, 2})) + " " +
                              folder.write("halves.json", bench(2, {2})) + " > " + folder.path("printed");
  REQUIRE(std::system(command.c_str()) == 0);
  const std::string svg = read_file(folder.path("plots/whole_gpus.svg"));
  for (const char* text : {"bmw, by queries", "bmw, by documents", "GPU of a test", "ideal"})
    CHECK(contains(svg, text));
}

}  // namespace quern
