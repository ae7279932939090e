#include "quern/rank/sharded_reranker.hpp"

#include "quern/core/own_errors.hpp"

namespace quern {

ShardedReranker::ShardedReranker(const IndexShards& shards, std::span<const ForwardReader> forwards,
                                 const BoundModel& model, const std::string& name,
                                 std::span<const FeatureMemory> memory) try
    : shards_(shards) {
  // None for a single one: it must be a whole index, not one shard of several, which is refused.
  const AverageLengths whole_lengths = average_lengths_of(forwards);
  for (std::size_t i = 0; i < shards.size(); ++i) {
    indexes_.push_back(&shards[i]);
    rerankers_.emplace_back(shards[i], forwards[i], model, name, memory[i],
                            shards.size() > 1 ? &whole_lengths : nullptr);
  }
} catch (...) {
  throw_own_error();
}

void ShardedReranker::rerank(std::string_view query, std::vector<ScoredDocument>& documents, std::size_t k,
                             Space& space) const {
  return with_own_errors([&] {
    const std::vector<FeatureQuery> queries =
        make_feature_queries(indexes_, space.of_shard.analyzer, query, rerankers_.front().extractor().memory());
    for (std::size_t shard = 0; shard < rerankers_.size(); ++shard) {
      const docid_t first = shards_.first_docid(shard), end = first + shards_[shard].num_documents();
      space.documents.clear();
      space.places.clear();
      for (std::size_t i = 0; i < documents.size(); ++i) {
        if (documents[i].docid < first || documents[i].docid >= end) continue;
        space.documents.push_back({documents[i].docid - first, documents[i].score});
        space.places.push_back(i);
      }
      rerankers_[shard].score(queries[shard], space.documents, space.of_shard);
      for (std::size_t i = 0; i < space.places.size(); ++i) documents[space.places[i]].score = space.documents[i].score;
    }
    Reranker::keep_best(documents, k);
  });
}

}  // namespace quern
