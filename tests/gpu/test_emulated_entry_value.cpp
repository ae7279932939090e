#include "gpu/emulated_gpu.hpp"
//
#include <cmath>

#include "quern/core/random.hpp"
#include "quern/gpu/range/entries.cuh"

#include "catch.hpp"

/// Frequencies recovered from the values of entries.
namespace quern::gpu {

TEST_CASE("an entry's value gives its frequency or none, never another one", "[gpu_emulated][property]") {
  RandomBits random(83);
  std::uint64_t known = 0, all = 0;
  for (unsigned i = 0; i < 400; ++i) {
    // From the shortest documents to those of millions of tokens.
    const auto constant = static_cast<float>(std::exp2(random.below(3000) / 100.0 - 6));
    for (std::uint32_t freq = 1; freq < 600; ++freq) {
      const std::uint32_t value = value_of_freq(constant, freq), found = freq_of_value(constant, value);
      if (found != 0 && found != freq) {
        INFO("constant " << constant << ", frequency " << freq << ", value " << value);
        REQUIRE(found == freq);
      }
      if (constant < 0.5f || constant > 60 || freq >= 100) continue;
      ++all;
      known += found != 0;
    }
  }
  CHECK(all > 5000);
  CHECK(known == all);
}

TEST_CASE("no frequency is found for values of no frequency or of several", "[gpu_emulated]") {
  CHECK(freq_of_value(1.2f, 0) == 0);
  CHECK(freq_of_value(1.2f, value_steps) == 0);
  // The impact of one occurrence is a third; a step less belongs to no frequency.
  const std::uint32_t value = value_of_freq(2, 1);
  CHECK(value == 21846);
  CHECK(freq_of_value(2, value) == 1);
  CHECK(freq_of_value(2, value - 1) == 0);
  // Ten thousand occurrences and ten more round to the same.
  CHECK(value_of_freq(2, 10000) == value_of_freq(2, 10010));
  CHECK(freq_of_value(2, value_of_freq(2, 10000)) == 0);
  CHECK(freq_of_value(1e30f, 1) == 0);
}

}  // namespace quern::gpu
