#include "quern/search/shard_search.hpp"

#include "quern/search/best_of_shards.hpp"

namespace quern {

std::vector<ScoredDocument> ShardSearch::search(std::string_view text, const QueryAlgorithm& algorithm, std::size_t k,
                                                Analyzer& analyzer, QueryStatistics* statistics,
                                                const ShardFilters& passing) const {
  QueryEngine::ReadQuery query = engines_.front()->read(text, analyzer);
  const auto search_all = [&](const QueryAlgorithm& by) {
    std::vector<ScoredDocument> best;
    for (std::size_t shard = 0; shard < engines_.size(); ++shard) {
      // Of equal scores, those of earlier shards come first.
      const float above = best.size() == k ? best.back().score : ScoringContext().above;
      std::vector<ScoredDocument> found =
          engines_[shard]->search(query, by, k, above, statistics, passing_of(passing, shard));
      if (shard == 0)
        best = std::move(found);  // the first docID is 0
      else
        add_results_of_shard(best, found, shards_.first_docid(shard), k);
    }
    return best;
  };
  if (algorithm.matching != Matching::all_else_any) return search_all(algorithm);
  std::vector<ScoredDocument> best = search_all(algorithm_named("and"));
  return best.size() >= k ? best : search_all(algorithm_named("auto"));
}

}  // namespace quern
