#include <cstdio>
#include <string>

#include "cli/launcher.hpp"
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_session.hpp>
#include <catch2/catch_test_case_info.hpp>
#include <catch2/reporters/catch_reporter_event_listener.hpp>
#include <catch2/reporters/catch_reporter_registrars.hpp>
using Listener = Catch::EventListenerBase;
#else
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
using Listener = Catch::TestEventListenerBase;
#endif

namespace {

/// Numbers of test cases by outcome.
struct Counts {
  int passed = 0, failed = 0, skipped = 0;
} counts;

/// Counts test cases; a test case that warns that this machine lacks something counts as skipped.
class CountingListener : public Listener {
  using Ended = decltype(std::declval<Listener&>().assertionEnded(std::declval<const Catch::AssertionStats&>()));

 public:
  using Listener::Listener;

  void testCaseStarting(const Catch::TestCaseInfo&) override { skips_ = false; }
  Ended assertionEnded(const Catch::AssertionStats& stats) override {
    const Catch::AssertionResult& result = stats.assertionResult;
    if (result.getResultType() == Catch::ResultWas::Warning)
      skips_ |= std::string(result.getMessage()).rfind("skipped: no ", 0) == 0;
    return Ended();
  }
  void testCaseEnded(const Catch::TestCaseStats& stats) override {
    ++(stats.totals.testCases.failed > 0 ? counts.failed : skips_ ? counts.skipped : counts.passed);
  }

 private:
  bool skips_ = false;
};
CATCH_REGISTER_LISTENER(CountingListener)

}  // namespace

/// Adds to Catch2's output a last line with the counts, and returns status 4 if most test cases were skipped.
int main(int argc, char** argv) {
  quern::testing::fork_launcher();
  const int status = Catch::Session().run(argc, argv);
  const auto& [passed, failed, skipped] = counts;
  if (passed + failed + skipped > 0) std::printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
  return status == 0 && skipped > passed ? 4 : status;
}
