#include "quern/gpu/device_info.hpp"

#include "catch.hpp"
#include "cli/run_quern.hpp"
#include "cli/small_corpus.hpp"
#include "corpus/temporary_folder.hpp"
#include "gpu/skip_without_gpu.hpp"

/// Queries from the shell, on GPUs.
namespace quern {
namespace {

using namespace testing;

RunOutcome run(const std::string& index, const Words& options, const std::string& input) {
  Surroundings surroundings;
  surroundings.input = input;
  Words words = {"query", index, "-q", "-", "--queries-format", "lines"};
  words.insert(words.end(), options.begin(), options.end());
  return run_quern(words, surroundings);
}

}  // namespace

TEST_CASE("one GPU and all of them write what the CPU writes, and say where the time went", "[cli][query][gpu]") {
  SKIP_WITHOUT_GPU();
  const TemporaryFolder folder;
  const std::string index = folder.path("index"), stats = folder.path("stats");
  REQUIRE(run_quern({"index", folder.write("c.trecweb", small_trecweb), "-o", index}).exit_status == 0);
  std::string queries;
  for (unsigned i = 0; i < 100; ++i) queries += "mill\nstones mill\nnowhere\n";
  const RunOutcome on_cpu = run(index, {}, queries);
  for (const Words& options : {Words{}, Words{"--gpus", "all"}, Words{"--batch", "7"}, Words{"--batch-wait", "2"}}) {
    Words words = {"--device", "gpu", "--stats", stats};
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
}

TEST_CASE("a GPU that is not there is an error that says how many are", "[cli][query][gpu]") {
  SKIP_WITHOUT_GPU();
  const TemporaryFolder folder;
  const std::string index = folder.path("index");
  REQUIRE(run_quern({"index", folder.write("c.trecweb", small_trecweb), "-o", index}).exit_status == 0);
  for (const char* device : {"gpu", "auto"}) {
    for (const Words& options : {Words{"--gpu", "999"}, Words{"--gpus", "999"}}) {
      Words words = {"--device", device};
      words.insert(words.end(), options.begin(), options.end());
      const RunOutcome refused = run(index, words, "mill\n");
      CHECK(refused.exit_status == 1);
      CHECK(refused.out.empty());
      CHECK(contains(refused.err, "this machine has " + std::to_string(list_gpus().size())));
    }
  }
}

}  // namespace quern
