#include "quern/lab/list_profile.hpp"

#include "catch.hpp"

namespace quern {

TEST_CASE("the time to hand over a query is measured, for any threads and rate", "[measure]") {
  for (const unsigned threads : {1u, 3u}) {
    for (const double rate : {10.0, 20000.0, 1e7}) {
      const double us = measure_hand_over_us(threads, rate);
      CHECK(us > 0);
      CHECK(us < 1e6);
    }
  }
}

}  // namespace quern
