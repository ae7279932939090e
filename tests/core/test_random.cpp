#include <array>
#include <cmath>

#include "quern/core/random.hpp"

#include "catch.hpp"

using namespace quern;

TEST_CASE("Random numbers are those of SplitMix64 on every system", "[core]") {
  // The first outputs of the reference implementation for seed 1234567.
  RandomBits random(1234567);
  for (const std::uint64_t wanted :
       {6457827717110365317u, 3203168211198807973u, 9817491932198370423u, 4593380528125082431u, 16408922859458223821u})
    CHECK(random.next() == wanted);
}

TEST_CASE("Bounded random numbers stay below their bound and take every value", "[core][property]") {
  RandomBits random(1);
  for (const std::uint64_t bound : {1u, 2u, 3u, 7u, 10u}) {
    std::array<int, 10> met = {};
    for (int i = 0; i < 1000; ++i) {
      const std::uint64_t value = random.below(bound);
      REQUIRE(value < bound);
      ++met[value];
    }
    // About five standard deviations.
    const double expected = 1000.0 / static_cast<double>(bound);
    for (std::uint64_t value = 0; value < bound; ++value)
      CHECK(std::abs(met[value] - expected) <= 5 * std::sqrt(expected));
  }
  for (int i = 0; i < 100; ++i) CHECK(random.below(UINT64_MAX) < UINT64_MAX);
  for (int i = 0; i < 1000; ++i) {
    const double unit = random.unit();
    REQUIRE(unit >= 0);
    REQUIRE(unit < 1);
  }
}
