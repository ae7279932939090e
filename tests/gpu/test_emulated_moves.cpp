#include "gpu/emulated_gpu.hpp"
//
#include <cstdint>
#include <utility>
#include <vector>

#include "quern/core/random.hpp"
#include "quern/gpu/store/move_words.cuh"

#include "catch.hpp"

/// The kernel that moves words to their positions, run by an emulated GPU.
namespace quern {
namespace {

using namespace testing;

struct Runs {
  std::vector<uint4> from, to;  // aligned for the kernel's loads
  std::vector<gpu::MovedWords> table;
  std::vector<std::uint32_t> expected;
};

/// Runs of random lengths at random positions of the source; in the target they follow each other, with a word between.
Runs random_runs(RandomBits& random, std::size_t count, std::uint64_t max_words) {
  Runs items;
  std::vector<std::pair<std::size_t, std::size_t>> places;
  std::size_t from_words = 0;
  items.expected.push_back(0);
  for (std::size_t i = 0; i < count; ++i) {
    from_words += random.below(6);
    places.push_back({from_words, 1 + random.below(max_words)});
    from_words += places.back().second;
  }
  items.from.resize(from_words / 4 + 1);
  std::uint32_t* const from = &items.from.data()->x;
  for (std::size_t i = 0; i < from_words; ++i) from[i] = static_cast<std::uint32_t>(random.below(1u << 31)) + 1;
  std::vector<std::size_t> to;
  for (const auto& [first, words] : places) {
    to.push_back(items.expected.size());
    items.expected.insert(items.expected.end(), from + first, from + first + words);
    items.expected.push_back(0);
  }
  items.to.resize(items.expected.size() / 4 + 1);
  for (std::size_t i = 0; i < count; ++i)
    items.table.push_back({&items.to.data()->x + to[i], from + places[i].first, places[i].second});
  return items;
}

}  // namespace

TEST_CASE("an emulated kernel moves each run once, and nothing else", "[gpu_emulated][gpu_store][property]") {
  RandomBits random(29);
  for (const std::uint64_t max_words : {3u, 40u, 1100u})
    for (const std::size_t count : {1u, 7u, 32u, 33u, 64u, 65u, 96u, 97u, 400u}) {
      const emulated::RandomOrder order(1 + random.below(1000));
      const Runs items = random_runs(random, count, max_words);
      std::uint32_t next_item = 0;
      emulated::run(2, gpu::moving_threads,
                    [&] { gpu::move_words(items.table.data(), static_cast<unsigned>(count), &next_item); });
      INFO(count << " items of at most " << max_words << " words");
      const std::uint32_t* const to = &items.to.data()->x;
      REQUIRE(std::vector<std::uint32_t>(to, to + items.expected.size()) == items.expected);
    }
}

}  // namespace quern
