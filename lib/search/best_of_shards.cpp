#include "quern/search/best_of_shards.hpp"

namespace quern {

void add_results_of_shard(std::vector<ScoredDocument>& best, std::span<const ScoredDocument> of_shard,
                          docid_t first_docid, std::size_t k) {
  // How many of each are among the k best; of equal scores those of earlier shards come first.
  std::size_t earlier = 0, added = 0;
  while (earlier + added < k && (earlier < best.size() || added < of_shard.size())) {
    if (added == of_shard.size() || (earlier < best.size() && best[earlier].score >= of_shard[added].score))
      ++earlier;
    else
      ++added;
  }
  best.resize(earlier + added);
  // From the worst on, so that each has its place before another one is moved there.
  for (std::size_t end = best.size(); added > 0; --end) {
    if (earlier > 0 && best[earlier - 1].score < of_shard[added - 1].score) {
      best[end - 1] = best[earlier - 1];
      --earlier;
    } else {
      const ScoredDocument& document = of_shard[added - 1];
      best[end - 1] = {document.docid + first_docid, document.score};
      --added;
    }
  }
}

}  // namespace quern
