#pragma once
#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "quern/formats/index_shards.hpp"
#include "quern/rank/reranker.hpp"

namespace quern {

/// The second stage over all shards of an index: documents get the scores that they have in the whole. Many threads may
/// use it at once, each with its own Space.
class ShardedReranker {
 public:
  /// Forward files and memory: of each shard. All must stay. Throws InvalidArgument as Reranker does.
  ShardedReranker(const IndexShards& shards, std::span<const ForwardReader> forwards, const BoundModel& model,
                  const std::string& name, std::span<const FeatureMemory> memory);

  struct Space {
    explicit Space(const IndexShards& shards) : of_shard(shards[0]) {}

    Reranker::Space of_shard;
    std::vector<ScoredDocument> documents;
    std::vector<std::size_t> places;
  };

  /// As Reranker::rerank(), with docIDs of the whole.
  void rerank(std::string_view query, std::vector<ScoredDocument>& documents, std::size_t k, Space& space) const;

  const Reranker& of_shard(std::size_t shard) const { return rerankers_[shard]; }

 private:
  const IndexShards& shards_;
  std::vector<const IndexReader*> indexes_;
  std::deque<Reranker> rerankers_;
};

}  // namespace quern
