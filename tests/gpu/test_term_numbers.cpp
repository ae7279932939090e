#include <random>
#include <unordered_map>

#include "quern/gpu/engine/term_numbers.hpp"

#include "catch.hpp"

namespace quern {

TEST_CASE("terms are numbered in the order in which they come first", "[gpu_batch][property]") {
  for (const term_t spread : {term_t{10}, term_t{5000}, ~term_t{0}}) {
    std::mt19937 random(spread);
    gpu::TermNumbers numbers;
    std::unordered_map<term_t, std::uint32_t> expected;
    for (unsigned i = 0; i < 20000; ++i) {
      const term_t term = std::uniform_int_distribution<term_t>(0, spread)(random);
      const auto [place, is_new] = expected.try_emplace(term, static_cast<std::uint32_t>(expected.size()));
      REQUIRE(numbers.of(term) == std::pair(place->second, is_new));
    }
  }
}

}  // namespace quern
