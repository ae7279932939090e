#include <set>

#include "quern/core/random.hpp"
#include "quern/corpus/parse_corpus.hpp"

#include "catch.hpp"

using namespace quern;
using Added = DigestSet::Added;

TEST_CASE("A set of digests contains exactly those that were added", "[collection]") {
  DigestSet digests(64 << 20);
  RandomBits random(5);
  std::set<Hash128> expected;
  for (int i = 0; i < 100000; ++i) {
    // Few values in some of the bits: tables of very different sizes, and long runs of used slots.
    const bool is_crowded = i % 2 == 0;
    const Hash128 digest{is_crowded ? random.below(1000) : random.below(~std::uint64_t{0}),
                         is_crowded ? std::uint64_t{7} : random.below(~std::uint64_t{0}) | std::uint64_t{1} << 32};
    CHECK((digests.add(digest) == Added::yes) == expected.insert(digest).second);
  }
  CHECK(digests.count() == expected.size());
  for (const Hash128& digest : expected) REQUIRE(digests.add(digest) == Added::was_there);
}

TEST_CASE("A set of digests keeps its memory limit and its stated size", "[collection]") {
  for (const std::uint64_t count : {std::uint64_t{1}, std::uint64_t{1000}, std::uint64_t{300000}}) {
    DigestSet digests(DigestSet::bytes_for(count));
    RandomBits random(count);
    const auto next = [&] { return Hash128{random.below(~std::uint64_t{0}), random.below(~std::uint64_t{0})}; };
    for (std::uint64_t i = 0; i < count; ++i) REQUIRE(digests.add(next()) == Added::yes);
    std::uint64_t more = 0;
    while (more < 10 * count + 100000 && digests.add(next()) == Added::yes) ++more;
    CHECK(more < count + 20000);
  }
  CHECK(DigestSet(0).add({1, 2}) == Added::no_room);
}
