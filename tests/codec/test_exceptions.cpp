#include "quern/codec/bit_packing.hpp"

#include "catch.hpp"
#include "codec/posting_lists.hpp"

namespace quern {
namespace {

using test::Random;

/// Exceptions of n values, and their positions.
template <class High>
struct Exceptions {
  ExceptionValues<High, 2 * max_block_size> gaps, highs;
  unsigned count = 0, last = 0, n;
  std::vector<High> expected;

  Exceptions(Random& random, unsigned n_, unsigned distance) : n(n_), expected(n_, no_high<High>) {
    unsigned next = 0;
    for (unsigned i = 0; i < n; ++i) {
      if (random() % distance != 0) continue;
      gaps.data()[count] = static_cast<High>(i - next);
      expected[i] = highs.data()[count] = static_cast<High>(random() % 0x7fff);
      ++count;
      next = i + 1;
      last = i;
    }
  }

  bool place(PlacedHighs<High>& placed) const { return placed.place(gaps.data(), highs.data(), count, n); }
};

template <class High>
void check_placing(std::uint64_t greatest_gap) {
  Random random(3);
  for (unsigned trial = 0; trial < 2000; ++trial) {
    Exceptions<High> exceptions(random, 1 + random() % max_block_size, 1 + trial % 20);
    INFO(exceptions.count << " exceptions of " << exceptions.n << " values");
    PlacedHighs<High> placed;
    REQUIRE(exceptions.place(placed));
    REQUIRE(std::vector<High>(placed.data(), placed.data() + exceptions.n) == exceptions.expected);
    if (exceptions.count == 0) continue;
    // One position past the last value, or as far as possible.
    High& gap = exceptions.gaps.data()[random() % exceptions.count];
    const High right = gap;
    gap = static_cast<High>(right + exceptions.n - exceptions.last);
    CHECK_FALSE(exceptions.place(placed));
    gap = static_cast<High>(greatest_gap);
    CHECK_FALSE(exceptions.place(placed));
  }
}

}  // namespace

TEST_CASE("high parts are put in place, and refused after the last value", "[codec][property]") {
  check_placing<std::uint16_t>(0xffff);
  check_placing<std::uint32_t>(0xffffffff);
}

TEST_CASE("high parts are placed up to the next multiple of 32 values", "[codec]") {
  for (unsigned n = 1; n <= 100; ++n) {
    ExceptionValues<std::uint16_t, 4> gaps, highs;
    gaps.data()[0] = static_cast<std::uint16_t>(n - 1);
    highs.data()[0] = 5;
    PlacedHighs<std::uint16_t> placed;
    REQUIRE(placed.place(gaps.data(), highs.data(), 1, n));
    for (unsigned i = 0; i < (n + 31) / 32 * 32; ++i)
      CHECK(placed.data()[i] == (i + 1 == n ? 5 : no_high<std::uint16_t>));
  }
}

}  // namespace quern
