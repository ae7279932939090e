#include "quern/gpu/device/device_info.hpp"

#include "catch.hpp"
#include "cli/run_quern.hpp"
#include "cli/small_corpus.hpp"
#include "corpus/temporary_folder.hpp"
#ifdef QUERN_HAS_CUDA
#include "gpu/memory_hog.hpp"
#endif
#include "gpu/skip_without_gpu.hpp"

/// Queries from the shell, on GPUs.
namespace quern {
namespace {

using namespace testing;

RunOutcome run(const std::string& index, const CommandLine& options, const std::string& input) {
  Surroundings surroundings;
  surroundings.input = input;
  CommandLine words = {"query", index, "-q", "-", "--queries-format", "lines"};
  words.insert(words.end(), options.begin(), options.end());
  return run_quern(words, surroundings);
}

}  // namespace

TEST_CASE("one GPU and all of them give the CPU's output, and --stats has the times of their stages",
          "[cli][query][gpu]") {
  SKIP_WITHOUT_GPU();
  const TemporaryFolder folder;
  const std::string index = folder.path("index"), stats = folder.path("stats");
  REQUIRE(run_quern({"index", folder.write("c.trecweb", small_trecweb), "-o", index}).exit_status == 0);
  std::string queries;
  for (unsigned i = 0; i < 100; ++i) queries += "mill\nstones mill\nnowhere\n";
  const RunOutcome on_cpu = run(index, {}, queries);
  for (const CommandLine& options :
       {CommandLine{}, CommandLine{"--gpus", "all"}, CommandLine{"--batch", "7"}, CommandLine{"--batch-wait", "2"}}) {
    CommandLine words = {"--device", "gpu", "--stats", stats};
    words.insert(words.end(), options.begin(), options.end());
    const RunOutcome on_gpu = run(index, words, queries);
    CHECK(on_gpu.exit_status == 0);
    CHECK(on_gpu.out == on_cpu.out);
    const auto json = nlohmann::json::parse(read_file(stats));
    CHECK(json["device"] == "gpu");
    CHECK(json["gpu"]["batches"] > 0);
    double shares = 0;
    for (const char* stage : {"initialization", "scoring", "merging"}) {
      const double share = json["gpu"]["stages"][stage].get<double>();
      CHECK(share >= 0);
      shares += share;
    }
    CHECK(shares == Approx(1));
  }
  const std::string filter = "docno!=M-1";
  CHECK(run(index, {"--device", "gpu", "--filter", filter}, queries).out ==
        run(index, {"--filter", filter}, queries).out);
  const RunOutcome moved =
      run(index, {"--device", "auto", "--gpu-options", "strategy=ding", "--filter", filter}, queries);
  CHECK(moved.out == run(index, {"--filter", filter}, queries).out);
  CHECK(contains(moved.err, "queries run on the CPU: the strategy ding does not support filters"));
}

TEST_CASE("a missing GPU is an error that says how many there are", "[cli][query][gpu]") {
  SKIP_WITHOUT_GPU();
  const TemporaryFolder folder;
  const std::string index = folder.path("index");
  REQUIRE(run_quern({"index", folder.write("c.trecweb", small_trecweb), "-o", index}).exit_status == 0);
  for (const char* device : {"gpu", "auto"}) {
    for (const CommandLine& options : {CommandLine{"--gpu", "999"}, CommandLine{"--gpus", "999"}}) {
      CommandLine words = {"--device", device};
      words.insert(words.end(), options.begin(), options.end());
      const RunOutcome refused = run(index, words, "mill\n");
      CHECK(refused.exit_status == 1);
      CHECK(refused.out.empty());
      CHECK(contains(refused.err, "this machine has " + std::to_string(list_gpus().size())));
    }
  }
}

#ifdef QUERN_HAS_CUDA
TEST_CASE("if a GPU's memory is occupied midway, the CPU answers the queries that don't fit", "[cli][query][gpu]") {
  SKIP_WITHOUT_GPU();
  const TemporaryFolder folder;
  const std::string index = folder.path("index");
  REQUIRE(run_quern({"index", folder.write("c.trecweb", small_trecweb), "-o", index}).exit_status == 0);
  const CommandLine form = {"--output-format", "msmarco", "-k", "1000"};
  // These results need more memory than is free.
  constexpr unsigned many = 4000;
  std::string rest;
  for (unsigned i = 0; i < many; ++i) rest += "mill\n";
  const CommandLine expected = lines_of(run(index, form, "mill\n" + rest).out);
  REQUIRE(expected.size() % (many + 1) == 0);
  for (const char* device : {"auto", "gpu"}) {
    INFO(device);
    CommandLine words = {"query",    index,  "-q",           "-",   "--queries-format", "lines",
                         "--device", device, "--batch-wait", "100", "--batch",          "4000"};
    words.insert(words.end(), form.begin(), form.end());
    RunningQuern running(words, true);
    running.write("mill\n");
    const std::size_t lines_per_query = expected.size() / (many + 1);
    for (std::size_t i = 0; i < lines_per_query; ++i) CHECK(running.read_line() == expected[i]);
    const MemoryHog hog;
    running.write(rest);
    for (std::size_t i = lines_per_query; i < expected.size(); ++i) REQUIRE(running.read_line() == expected[i]);
    CHECK(running.finish() == 0);
  }
}
#endif

}  // namespace quern
