#include "quern/core/error.hpp"
#include "quern/formats/tables/query_times.hpp"

#include "catch.hpp"
#include "formats/page_example.hpp"

/// Files of query times: round trips, and errors that name bad lines.
namespace quern {
namespace {

QueryTimeTable some_times() {
  QueryTimeTable times;
  times.index_hash = "0123456789abcdef";
  times.scoring = "exact scores";
  times.gpu = "a GPU";
  times.rates.push_back({"and", "wang", 1000, 256, 1.0 / 3});
  times.rates.push_back({"or", "range", 10, 16, 2e5});
  times.rows.push_back({1, Processor::cpu, "maxscore", "", 10, 1, 12.25, {2, 15, 322, 337, 4, 0}});
  times.rows.push_back({7, Processor::gpu, "and", "wang", 1000, 256, 1e-3, {1, 9, 0, 9, 1, 81000}});
  return times;
}

const std::string times_head =
    "#index\tff\nquery\tdevice\talgorithm\tstrategy\tk\tbatch\tus\tterms\tshortest\tsecond\tpostings\tblocks\tmissing"
    "\n";

}  // namespace

TEST_CASE("written query times are read back", "[format]") {
  const QueryTimeTable written = some_times();
  const QueryTimeTable read = parse_query_times(query_times_text(written), "times");
  CHECK(read.name == "times");
  CHECK(read.index_hash == written.index_hash);
  CHECK(read.scoring == written.scoring);
  CHECK(read.cpu.empty());
  CHECK(read.gpu == written.gpu);
  REQUIRE(read.rows.size() == written.rows.size());
  for (std::size_t i = 0; i < read.rows.size(); ++i) {
    const QueryTime &found = read.rows[i], &expected = written.rows[i];
    CHECK(found.query == expected.query);
    CHECK(found.device == expected.device);
    CHECK(found.algorithm == expected.algorithm);
    CHECK(found.strategy == expected.strategy);
    CHECK(found.k == expected.k);
    CHECK(found.batch == expected.batch);
    CHECK(found.us == expected.us);
    CHECK(found.features == expected.features);
  }
  REQUIRE(read.rates.size() == written.rates.size());
  for (std::size_t i = 0; i < read.rates.size(); ++i) {
    const BatchRate &found = read.rates[i], &expected = written.rates[i];
    CHECK(found.algorithm == expected.algorithm);
    CHECK(found.strategy == expected.strategy);
    CHECK(found.k == expected.k);
    CHECK(found.batch == expected.batch);
    CHECK(found.per_second == expected.per_second);
  }
  CHECK(query_times_text(read) == query_times_text(written));
}

TEST_CASE("the example on the page of query times can be read", "[format]") {
  const QueryTimeTable times = parse_query_times(testing::page_block("tables/query_times.md", "times"), "page");
  CHECK(times.index_hash == "0123456789abcdef");
  CHECK(times.cpu == "Some Processor");
  REQUIRE(times.rates.size() == 1);
  CHECK(times.rates[0].per_second == 250000);
  REQUIRE(times.rows.size() == 3);
  CHECK(times.rows[0].features == QueryFeatures{2, 15, 322, 337, 4, 0});
  CHECK(times.rows[1].us == 0.75);
  CHECK(times.rows[2].device == Processor::gpu);
  CHECK(times.rows[2].strategy == "range");
  CHECK(times.rows[2].us == 15);
}

TEST_CASE("invalid lines of query times are named", "[format]") {
  const std::string good = "1\tcpu\tor\t-\t10\t1\t5\t2\t3\t4\t7\t2\t0";
  CHECK(parse_query_times(times_head + good + "\r\n# a comment\n\n" + good, "times").rows.size() == 2);
  for (const char* bad : {"1\tcpu\tor\t-\t10\t1\t5\t2\t3\t4\t7\t2",
                          "1\tcpu\tor\t-\t10\t1\t5\t2\t3\t4\t7\t2\t0\t0",
                          "0\tcpu\tor\t-\t10\t1\t5\t2\t3\t4\t7\t2\t0",
                          "1\ttpu\tor\t-\t10\t1\t5\t2\t3\t4\t7\t2\t0",
                          "1\tcpu\t\t-\t10\t1\t5\t2\t3\t4\t7\t2\t0",
                          "1\tcpu\tor\t-\t0\t1\t5\t2\t3\t4\t7\t2\t0",
                          "1\tcpu\tor\t-\t10\t0\t5\t2\t3\t4\t7\t2\t0",
                          "1\tcpu\tor\t-\t10\t1\t0\t2\t3\t4\t7\t2\t0",
                          "1\tcpu\tor\t-\t10\t1\tnan\t2\t3\t4\t7\t2\t0",
                          "1\tcpu\tor\t-\t10\t1\tinf\t2\t3\t4\t7\t2\t0",
                          "1\tcpu\tor\t-\t10\t1\t-1\t2\t3\t4\t7\t2\t0",
                          "1\tcpu\tor\t-\t10\t1\t5\t2\t8\t9\t7\t2\t0",
                          "1\tcpu\tor\t-\t10\t1\t5\t2\t4\t3\t7\t2\t0",
                          "1\tcpu\tor\t-\t10\t1\t5\t2\t3\t4\t7\t-2\t0",
                          "1\tcpu\tor\t-\t10\t1\t5\t2\t3\t4\t7\t2\t1e3",
                          "#rate\tor\trange\t10\t16",
                          "#rate\tor\trange\t10\t16\t5\t6",
                          "#rate\tor\trange\t0\t16\t5",
                          "#rate\tor\trange\t10\t0\t5",
                          "#rate\tor\trange\t10\t16\t0",
                          "#rate\tor\trange\t10\t16\t-1",
                          "#rate\tor\trange\t10\t16\tnan",
                          "#rate\tor\trange\t10\t16\tinf",
                          "#rate\t\trange\t10\t16\t5",
                          "99999999999999999999\tcpu\tor\t-\t10\t1\t5\t2\t3\t4\t7\t2\t0"}) {
    INFO(bad);
    CHECK_THROWS_WITH(parse_query_times(times_head + good + "\n" + bad + "\n", "times"),
                      Catch::Matchers::StartsWith("times, line 4: "));
  }
  CHECK_THROWS_WITH(parse_query_times("", "times"), Catch::Contains("lacks the line with the columns"));
  CHECK_THROWS_WITH(parse_query_times("c,1,2\n", "times"), Catch::Contains("times, line 1: "));
  CHECK_THROWS_WITH(parse_query_times(times_head.substr(times_head.find('\n') + 1), "times"),
                    Catch::Contains("does not name the index"));
}

}  // namespace quern
