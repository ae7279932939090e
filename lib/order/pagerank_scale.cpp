#include "quern/order/pagerank_scale.hpp"

#include <tbb/parallel_for.h>
#include <tbb/parallel_sort.h>

#include <algorithm>
#include <cmath>

#include "quern/core/named.hpp"

namespace quern {
namespace {

void scale_linear(std::span<float> ranks) {
  const float most = *std::max_element(ranks.begin(), ranks.end());
  for (float& rank : ranks) rank = most > 0 ? rank / most : 1.0f;
}

/// The least rank above 0 becomes 0, as do ranks of 0.
void scale_log(std::span<float> ranks) {
  float least = 0, most = 0;
  for (const float rank : ranks) {
    if (rank > 0) least = least == 0 ? rank : std::min(least, rank);
    most = std::max(most, rank);
  }
  const double range = most > least ? std::log(static_cast<double>(most) / least) : 0;
  for (float& rank : ranks) {
    if (range == 0) {
      rank = rank == most ? 1.0f : 0.0f;
    } else {
      rank = rank <= least ? 0.0f : static_cast<float>(std::log(static_cast<double>(rank) / least) / range);
    }
    rank = std::min(rank, 1.0f);
  }
}

/// The share of documents with this rank or a lower one.
void scale_rank(std::span<float> ranks) {
  std::vector<float> sorted(ranks.begin(), ranks.end());
  tbb::parallel_sort(sorted.begin(), sorted.end());
  const auto documents = static_cast<double>(sorted.size());
  tbb::parallel_for(std::size_t{0}, ranks.size(), [&](std::size_t i) {
    const auto up_to = std::upper_bound(sorted.begin(), sorted.end(), ranks[i]) - sorted.begin();
    ranks[i] = static_cast<float>(static_cast<double>(up_to) / documents);
  });
}

constexpr PagerankScale rank = {"rank", "the share of documents that have no greater PageRank", scale_rank};
constexpr PagerankScale logarithm = {"log", "its logarithm, from the least (0) to the greatest (1)", scale_log};
constexpr PagerankScale linear = {"linear", "divided by the greatest", scale_linear};

}  // namespace

const std::vector<const PagerankScale*>& all_pagerank_scales() {
  static const std::vector<const PagerankScale*> scales = {&rank, &logarithm, &linear};
  return scales;
}

const PagerankScale& pagerank_scale_named(std::string_view name) {
  return find_named(all_pagerank_scales(), name, "scale of PageRank");
}

}  // namespace quern
