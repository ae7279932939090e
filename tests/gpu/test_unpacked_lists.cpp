#include <algorithm>
#include <set>
#include <vector>

#include "quern/core/random.hpp"
#include "quern/gpu/intersect/unpacked_lists.hpp"

#include "catch.hpp"

/// Unpacked lists that are added and evicted in memory smaller than all of them.
namespace quern::gpu {
namespace {

constexpr docid_t documents = 6000;

/// The memory, to which each list writes its number.
class Memory {
 public:
  explicit Memory(std::uint64_t words) : words_(words, 0xffffffffu) {}

  void unpack(std::uint32_t number, const ListState& state) {
    REQUIRE(state.place.first_word + state.words <= words_.size());
    std::fill_n(words_.begin() + static_cast<std::ptrdiff_t>(state.place.first_word), state.words, number);
  }
  bool has(std::uint32_t number, const ListState& state) const {
    const auto first = words_.begin() + static_cast<std::ptrdiff_t>(state.place.first_word);
    return std::all_of(first, first + static_cast<std::ptrdiff_t>(state.words),
                       [&](std::uint32_t word) { return word == number; });
  }

 private:
  std::vector<std::uint32_t> words_;
};

/// Two batches in flight that use random lists.
class Flights {
 public:
  Flights(RandomBits& random, std::uint64_t words, Unpacking unpacking, ListRetention retention)
      : random_(random), unpacking_(unpacking), lists_(documents, words, retention), memory_(words) {
    for (std::size_t i = 0; i < 40; ++i)
      dfs_.push_back(static_cast<std::uint32_t>(1 + random.below(random.below(3) == 0 ? documents : 200)));
  }

  void launch(unsigned flight) {
    std::set<std::uint32_t> chosen;
    for (std::uint64_t i = 1 + random_.below(12); i > 0; --i)
      chosen.insert(static_cast<std::uint32_t>(random_.below(dfs_.size())));
    for (const std::uint32_t number : chosen) take(flight, number);
    if (random_.below(5) == 0) {
      lists_.cancel(flight);
      uses_[flight].clear();
      for (const std::uint32_t number : unpacked_here_) CHECK(lists_.state_of(number).words == 0);
    } else {
      for (const std::uint32_t number : unpacked_here_) memory_.unpack(number, lists_.state_of(number));
    }
    unpacked_here_.clear();
  }
  void land(unsigned flight) {
    lists_.release(flight);
    uses_[flight].clear();
  }
  /// Checks that lists in use have not moved, and that every list in memory is complete.
  void check() {
    for (const std::vector<InUse>& uses : uses_)
      for (const InUse& use : uses) {
        const ListState& state = lists_.state_of(use.number);
        REQUIRE(state.words > 0);
        REQUIRE(state.place.first_word == use.first_word);
      }
    for (std::uint32_t number = 0; number < dfs_.size(); ++number)
      if (const ListState& state = lists_.state_of(number); state.words > 0) REQUIRE(memory_.has(number, state));
  }

  std::size_t added = 0, refused = 0, found = 0;

 private:
  struct InUse {
    std::uint32_t number = 0;
    std::uint64_t first_word = 0;
  };

  void take(unsigned flight, std::uint32_t number) {
    ListState& state = lists_.state_of(number);
    if (state.words > 0) {
      lists_.use(flight, state);
      ++found;
    } else if (lists_.add(flight, dfs_[number], unpacking_, state)) {
      unpacked_here_.push_back(number);
      ++added;
      REQUIRE(state.place.first_word % 32 == 0);
    } else {
      ++refused;
      return;
    }
    uses_[flight].push_back({number, state.place.first_word});
  }

  RandomBits& random_;
  Unpacking unpacking_;
  UnpackedLists lists_;
  Memory memory_;
  std::vector<std::uint32_t> dfs_;
  std::vector<InUse> uses_[2];
  std::vector<std::uint32_t> unpacked_here_;
};

}  // namespace

TEST_CASE("unpacked lists in use stay where they are, and no two lists overlap", "[gpu_batch][property]") {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    INFO("seed " << seed);
    RandomBits random(seed);
    const Unpacking ways[] = {Unpacking::documents, Unpacking::buckets, Unpacking::frequent};
    const ListRetention retention = seed % 2 == 0 ? ListRetention::lfu : ListRetention::lru;
    Flights flights(random, 3000 + random.below(30000), ways[seed % 3], retention);
    for (unsigned step = 0; step < 300; ++step) {
      flights.land(step % 2);
      flights.check();
      flights.launch(step % 2);
      flights.check();
    }
    CHECK(flights.added > 40);
    CHECK(flights.found > 40);
  }
}

TEST_CASE("a list evicts others only if lists in use leave enough space, and only as many as needed", "[gpu_batch]") {
  UnpackedLists lists(documents, 320);
  const auto fits = [&](unsigned flight, term_t number, std::uint32_t df) {
    return lists.add(flight, df, Unpacking::documents, lists.state_of(number));
  };
  const auto is_there = [&](term_t number) { return lists.state_of(number).words > 0; };
  REQUIRE(fits(0, 1, 90));  // 96 words
  REQUIRE(fits(0, 2, 96));
  lists.release(0);
  REQUIRE(fits(1, 3, 100));  // 128: no free words are left
  CHECK_FALSE(fits(0, 4, 200));
  CHECK(is_there(1));
  CHECK(is_there(2));
  REQUIRE(fits(0, 4, 40));  // replaces one list
  CHECK(is_there(1) != is_there(2));
  CHECK(is_there(3));
  lists.release(1);
  lists.release(0);
  REQUIRE(fits(0, 5, 320));
  for (const term_t number : {1, 2, 3, 4}) CHECK_FALSE(is_there(number));
}

TEST_CASE("an unpacked list that is used often stays longer than others", "[gpu_batch]") {
  UnpackedLists lists(documents, 96);
  const auto use = [&](term_t number) {
    ListState& state = lists.state_of(number);
    const bool unpacked = state.words > 0;
    if (unpacked)
      lists.use(0, state);
    else
      REQUIRE(lists.add(0, 32, Unpacking::documents, state));
    lists.release(0);
    return unpacked;
  };
  for (const term_t number : {1, 2, 3}) CHECK_FALSE(use(number));
  for (const term_t number : {1, 1, 1, 3, 3, 3, 2}) CHECK(use(number));
  CHECK_FALSE(use(4));  // replaces 2
  CHECK(use(1));
  CHECK(use(3));
  CHECK_FALSE(use(2));
}

TEST_CASE("a list that was dropped must be used as often as before until it is unpacked again", "[gpu_batch]") {
  UnpackedLists lists(documents, 64);
  ListState& state = lists.state_of(1);
  CHECK(UnpackedLists::count_use(state, 32, 64));
  REQUIRE(lists.add(0, 32, Unpacking::documents, state));
  lists.release(0);
  REQUIRE(lists.add(0, 64, Unpacking::documents, lists.state_of(2)));
  CHECK(state.words == 0);
  CHECK(state.place.format == ListFormat::coded);
  CHECK_FALSE(UnpackedLists::count_use(state, 32, 63));
}

}  // namespace quern::gpu
