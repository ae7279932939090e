#include <algorithm>

#include "quern/core/random.hpp"
#include "quern/index/list_encoder.hpp"

#include "catch.hpp"

using namespace quern;

TEST_CASE("The kept impacts are those of a sorted list at the stored ranks", "[index][property]") {
  RandomBits random(67);
  TopImpacts top;
  for (const std::size_t count : {0u, 1u, 2u, 9u, 10u, 11u, 99u, 100u, 999u, 1000u, 1001u, 4000u, 30000u}) {
    for (const std::uint64_t different : {1u, 50u, 1u << 20}) {
      std::vector<float> impacts;
      top.clear();
      for (std::size_t i = 0; i < count; ++i) {
        impacts.push_back(static_cast<float>(1 + random.below(different)) / static_cast<float>(different));
        top.add(impacts.back());
      }
      std::sort(impacts.begin(), impacts.end(), std::greater<>());
      std::array<float, 4> wanted = {};
      for (std::size_t i = 0; i < stored_ranks.size(); ++i)
        if (count >= stored_ranks[i]) wanted[i] = impacts[stored_ranks[i] - 1];
      INFO(count << " impacts of " << different);
      CHECK(top.at_ranks() == wanted);
      CHECK(top.at_ranks() == wanted);  // reading changes nothing
    }
  }
}

TEST_CASE("Ascending and descending impacts give the same values at the stored ranks", "[index]") {
  TopImpacts rising, falling;
  for (int i = 1; i <= 10000; ++i) {
    rising.add(static_cast<float>(i));
    falling.add(static_cast<float>(10001 - i));
  }
  const std::array<float, 4> wanted = {10000, 9991, 9901, 9001};
  CHECK(rising.at_ranks() == wanted);
  CHECK(falling.at_ranks() == wanted);
}
