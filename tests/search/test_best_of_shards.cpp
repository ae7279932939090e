#include <algorithm>

#include "quern/core/random.hpp"
#include "quern/search/top_k.hpp"

#include "catch.hpp"

/// Merging the results of shards equals sorting all of them.
namespace quern {
namespace {

/// Results of a shard, best first, with few different scores.
std::vector<ScoredDocument> draw_results(RandomBits& random, std::size_t most) {
  std::vector<ScoredDocument> results(random.below(most + 1));
  for (std::size_t i = 0; i < results.size(); ++i)
    results[i] = {static_cast<docid_t>(i), static_cast<float>(random.below(6))};
  std::stable_sort(results.begin(), results.end(),
                   [](const ScoredDocument& a, const ScoredDocument& b) { return a.score > b.score; });
  return results;
}

}  // namespace

TEST_CASE("the best results of shards are those of a stable sort", "[query][shards][property]") {
  RandomBits random(11);
  for (int round = 0; round < 2000; ++round) {
    const std::size_t k = 1 + random.below(12);
    std::vector<ScoredDocument> best, all;
    for (docid_t shard = 0; shard < 4; ++shard) {
      const auto of_shard = draw_results(random, k);
      add_results_of_shard(best, of_shard, 100 * shard, k);
      for (const ScoredDocument& document : of_shard) all.push_back({document.docid + 100 * shard, document.score});
      std::stable_sort(all.begin(), all.end(),
                       [](const ScoredDocument& a, const ScoredDocument& b) { return a.score > b.score; });
      REQUIRE(best == std::vector<ScoredDocument>(all.begin(),
                                                  all.begin() + static_cast<std::ptrdiff_t>(std::min(k, all.size()))));
    }
  }
}

}  // namespace quern
