#include <string>
#include <vector>

#include "quern/core/error.hpp"
#include "quern/lab/gpu/shared_stream.hpp"

#include "catch.hpp"

namespace quern {
namespace {

const QueryTerms one = {{"one", 1}}, two = {{"two", 1}};

/// Two queries and their results.
StreamLog small_log() {
  StreamLog log;
  log.queries = {one, two};
  log.answers = {{{3, 1.5F}}, {}};
  return log;
}

}  // namespace

TEST_CASE("each query of a log is sent once per pass, and its answer compared", "[measure]") {
  const StreamLog log = small_log();
  std::vector<std::string> sent;
  const SingleSearch right = [&](QueryView query) {
    sent.push_back(text_of_terms(query));
    return sent.back() == "one" ? log.answers[0] : log.answers[1];
  };
  const LatencySummary times = measure_one_by_one(log, 3, right);
  CHECK(sent == std::vector<std::string>{"one", "two", "one", "two", "one", "two"});
  CHECK(times.mean_us > 0);
  CHECK(times.max_us >= times.p50_us);
  const SingleSearch wrong = [&](QueryView) { return log.answers[0]; };
  CHECK_THROWS_WITH(measure_one_by_one(log, 1, wrong), Catch::Contains("query 2"));
  CHECK(measure_one_by_one({}, 1, right).mean_us == 0);
}

}  // namespace quern
