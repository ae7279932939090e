#include <algorithm>
#include <fstream>

#include "quern/api/quern.hpp"

#include "api/failing.hpp"
#include "catch.hpp"
#include "cli/run_quern.hpp"
#include "corpus/temporary_folder.hpp"

/// Cache plans through the library's interface.
namespace quern {
namespace {

using namespace testing;

/// The sample's log, one line per query.
std::vector<std::string> sample_log() {
  std::ifstream file(sample_folder + "/query_log.txt");
  std::vector<std::string> queries;
  for (std::string line; std::getline(file, line);) queries.push_back(line.substr(line.find(':') + 1));
  return queries;
}

}  // namespace

TEST_CASE("a cache plan from the interface is byte for byte that of the command line", "[api][cache]") {
  const TemporaryFolder folder;
  const std::string index_path = folder.path("index");
  REQUIRE(run_quern({"index", sample_folder + "/corpus", "-o", index_path, "--order", "score", "--quantize", "8"})
              .exit_status == 0);
  const api::Index index = api::Index::open(index_path);
  const std::vector<std::string> texts = sample_log();
  const auto log = [&](const auto& take) { std::for_each(texts.begin(), texts.end(), take); };
  api::PlanOptions options;
  options.budget_share = 0.2;
  for (const api::Scores scores : {api::Scores::exact, api::Scores::quantized}) {
    const bool exact = scores == api::Scores::exact;
    INFO("exact: " << exact);
    options.scores = scores;
    options.overwrite = !exact;
    REQUIRE(run_quern({"plan", index_path, "-q", sample_folder + "/query_log.txt", "--budget", "20%", "--scores",
                       exact ? "exact" : "quantized", "-o", folder.path("printed"), "--force"})
                .exit_status == 0);
    const api::PlanReport report = api::plan_cache(index, log, folder.path("made"), options);
    CHECK(read_file(folder.path("made")) == read_file(folder.path("printed")));
    CHECK(report.queries == 2000);
    CHECK(report.cached_blocks >= report.lists);
    CHECK(report.lists > 0);
  }
}

TEST_CASE("a cache plan from the interface needs a sufficient budget and a writable path", "[api][cache]") {
  const TemporaryFolder folder;
  const std::string index_path = folder.path("index"), plan = folder.path("plan");
  REQUIRE(run_quern({"index", sample_folder + "/corpus", "-o", index_path}).exit_status == 0);
  const api::Index index = api::Index::open(index_path);
  const std::vector<std::string> texts = sample_log();
  const auto log = [&](const auto& take) { std::for_each(texts.begin(), texts.end(), take); };
  api::PlanOptions options;
  CHECK(error_of([&] { api::plan_cache(index, log, plan, options); }).option() == "budget");
  options.budget_bytes = 1;
  const api::Error tiny = error_of([&] { api::plan_cache(index, log, plan, options); });
  CHECK(tiny.option() == "budget");
  CHECK_THAT(tiny.what(), Catch::Contains("is too small for a single block") && !Catch::Contains("--"));
  CHECK_FALSE(std::filesystem::exists(plan));
  options.budget_bytes = 1 << 20;
  api::plan_cache(index, log, plan, options);
  CHECK(code_of([&] { api::plan_cache(index, log, plan, options); }) == api::ErrorCode::invalid_argument);
}

}  // namespace quern
