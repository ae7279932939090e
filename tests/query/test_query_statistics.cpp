#include "quern/query/query_statistics.hpp"

#include "catch.hpp"

using namespace quern;

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

TEST_CASE("A single time is every percentile, and none are all zero", "[query]") {
  const LatencySummary one = summarize({7});
  CHECK(one.p50_us == 7);
  CHECK(one.p999_us == 7);
  CHECK(summarize({}).mean_us == 0);
}
