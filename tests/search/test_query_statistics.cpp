#include <cmath>

#include "quern/core/random.hpp"
#include "quern/search/query_statistics.hpp"

#include "catch.hpp"
#include "corpus/temporary_folder.hpp"

using namespace quern;
using quern::testing::TemporaryFolder;

TEST_CASE("Latency percentiles are nearest ranks", "[query]") {
  std::vector<double> times;
  for (int i = 1000; i >= 1; --i) times.push_back(i);
  const LatencySummary summary = summarize(times);
  CHECK(summary.mean_us == 500.5);
  CHECK(summary.p50_us == 500);
  CHECK(summary.p90_us == 900);
  CHECK(summary.p95_us == 950);
  CHECK(summary.p99_us == 990);
  CHECK(summary.p999_us == 999);
  CHECK(summary.max_us == 1000);
}

TEST_CASE("A log of many times has the percentiles of all of them", "[query]") {
  const TemporaryFolder folder;
  RandomBits random(5);
  for (const std::size_t count : {1u, 2u, 999u, (1u << 20) + 1, (1u << 20) + 70'000}) {
    LatencyLog log(folder.path(""));
    std::vector<double> times;
    for (std::size_t i = 0; i < count; ++i) {
      times.push_back(static_cast<double>(random.below(1 + random.below(1 << 20))) / 16);
      log.add(times.back());
    }
    const LatencySummary wanted = summarize(times), found = log.summary();
    CHECK(std::abs(found.mean_us - wanted.mean_us) <= 1e-9 * wanted.mean_us);
    CHECK(found.p50_us == wanted.p50_us);
    CHECK(found.p90_us == wanted.p90_us);
    CHECK(found.p95_us == wanted.p95_us);
    CHECK(found.p99_us == wanted.p99_us);
    CHECK(found.p999_us == wanted.p999_us);
    CHECK(found.max_us == wanted.max_us);
  }
  CHECK(LatencyLog(folder.path("")).summary().max_us == 0);
}

TEST_CASE("A single time is every percentile, and without times all are zero", "[query]") {
  const LatencySummary one = summarize({7});
  CHECK(one.p50_us == 7);
  CHECK(one.p999_us == 7);
  CHECK(summarize({}).mean_us == 0);
}
