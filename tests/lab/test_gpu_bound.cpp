#include <string>

#include "quern/lab/gpu/gpu_bench.hpp"

#include "catch.hpp"

namespace quern {

TEST_CASE("a batch's bound is the time of its slowest part", "[gpu_bound]") {
  const GpuLimits upper_bounds{4e12, 1e12};
  CHECK_FALSE(bound_of({}, upper_bounds));
  // Reads 1 GB of lists and writes 4 GB of entries.
  const auto pruned = bound_of({1000000000, 1000000000, 1000000000, 0}, upper_bounds);
  REQUIRE(pruned);
  CHECK(std::string(pruned->name) == "device memory");
  CHECK(pruned->seconds == Approx(5e9 / 4e12));
  // Also reads the entries, and adds each up for five queries.
  const auto all = bound_of({1000000000, 1000000000, 1000000000, 5000000000}, upper_bounds);
  REQUIRE(all);
  CHECK(std::string(all->name) == "shared memory");
  CHECK(all->seconds == Approx(5e9 / 1e12));
  const auto once = bound_of({1000000000, 1000000000, 1000000000, 1000000000}, upper_bounds);
  REQUIRE(once);
  CHECK(std::string(once->name) == "device memory");
  CHECK(once->seconds == Approx(9e9 / 4e12));
  // Decoded lists are only read, and with pruning it is unknown how much of them.
  const auto kept = bound_of({0, 0, 1000000000, 500000000}, upper_bounds);
  REQUIRE(kept);
  CHECK(kept->seconds == Approx(4e9 / 4e12));
  CHECK_FALSE(bound_of({0, 0, 1000000000, 0}, upper_bounds));
}

}  // namespace quern
