#pragma once
#include "catch.hpp"
#include "cli/run_quern.hpp"

namespace quern::testing {

/// A run that must succeed.
inline RunOutcome run_well(const CommandLine& words) {
  const RunOutcome outcome = run_quern(words);
  INFO(outcome.err);
  REQUIRE(outcome.exit_status == 0);
  return outcome;
}

/// A run that must fail, print nothing, and have all of these in its message.
inline void check_failure(const CommandLine& words, const CommandLine& parts) {
  const RunOutcome outcome = run_quern(words);
  INFO(outcome.err);
  CHECK(outcome.exit_status == 1);
  CHECK(outcome.out.empty());
  for (const std::string& part : parts) CHECK(contains(outcome.err, part));
}

}  // namespace quern::testing
