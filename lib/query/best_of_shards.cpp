#include "quern/query/best_of_shards.hpp"

#include <algorithm>

namespace quern {

void add_results_of_shard(std::vector<ScoredDocument>& best, std::span<const ScoredDocument> of_shard,
                          docid_t first_docid, std::size_t k) {
  const auto before = static_cast<std::ptrdiff_t>(best.size());
  for (const ScoredDocument& document : of_shard) {
    // It and those after it come behind the k best.
    if (best.size() - static_cast<std::size_t>(before) == k) break;
    if (static_cast<std::size_t>(before) == k && !(document.score > best[k - 1].score)) break;
    best.push_back({document.docid + first_docid, document.score});
  }
  std::inplace_merge(best.begin(), best.begin() + before, best.end(),
                     [](const ScoredDocument& a, const ScoredDocument& b) { return a.score > b.score; });
  if (best.size() > k) best.resize(k);
}

}  // namespace quern
