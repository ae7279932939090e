#pragma once
#include <tbb/enumerable_thread_specific.h>

#include <string_view>
#include <vector>

#include "quern/formats/index_shards.hpp"
#include "quern/rank/sharded_reranker.hpp"

#include "second_stage_options.hpp"

namespace quern::tools {

/// Reranks results of queries over all shards of an index, on the CPU. Many threads may use it at once.
class ShardedSecondStage {
 public:
  /// The shards must stay. Throws as ForwardReader::open() and ShardedReranker do.
  ShardedSecondStage(const RankerArguments& arguments, const IndexShards& shards);

  const ForwardReader& forward(std::size_t shard) const { return forwards_[shard]; }
  /// Limits what a shard takes, as SecondStage::limit_memory().
  void limit_memory(std::size_t shard, std::uint64_t bytes, unsigned threads, IndexPages& pages) {
    memory_[shard] = {bytes, threads, pages};
  }
  /// As SecondStage::rerank(), with docIDs of the whole.
  double rerank(std::string_view query, std::vector<ScoredDocument>& documents, std::size_t k) const;

 private:
  std::vector<ForwardReader> forwards_;
  std::vector<FeatureMemory> memory_;
  ShardedReranker reranker_;
  mutable tbb::enumerable_thread_specific<ShardedReranker::Space> spaces_;
};

}  // namespace quern::tools
