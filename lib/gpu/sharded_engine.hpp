#pragma once
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "quern/formats/index_shards.hpp"
#include "quern/gpu/failover.hpp"

/// Answers queries over all shards of an index, as over the whole: each shard finds its best documents, and the best of
/// these are the whole's, since shards score as it does.
namespace quern {

/// Documents that may be results, of each shard; empty: all.
using ShardFilters = std::vector<const DocumentSet*>;

class ShardedEngine {
 public:
  /// Copies shards to GPUs unless `device` is the CPU: the first to the GPU of the options, the next to the one after
  /// it, as many as `options.gpus`, and so on from the first again. So each GPU has a range of documents, and decodes
  /// each list of a batch once. `engines`, those of the shards in their order, must outlive the object; all have the
  /// same options. Throws as FailoverEngine does.
  ShardedEngine(const IndexShards& shards, std::span<const std::unique_ptr<QueryEngine>> engines, QueryDevice device,
                const GpuOptions& options, Progress& progress, const FailoverNotice& notice);

  /// Answers queries as run_batch() does, with docIDs of the whole: some at a time, whose results over all shards take
  /// about `held_bytes`. With GPUs, shards work at the same time; else one after the other, each on all threads.
  /// Adds to `statistics` of each shard what its GPU did. and-or asks for the documents with all terms in all shards
  /// first. `passing`: of each shard, or empty.
  void run(std::span<const std::string_view> texts, const QueryAlgorithm& algorithm, std::size_t k, unsigned threads,
           const BatchSteps& steps, std::span<GpuStatistics> statistics, std::uint64_t held_bytes,
           const ShardFilters& passing = {});

 private:
  /// A group of queries, and what of their answers is known.
  struct Group;
  void search(Group& group, std::span<const std::size_t> queries, const QueryAlgorithm& algorithm);
  void search_shard(const Group& group, std::size_t shard, std::span<const std::string_view> texts,
                    const QueryAlgorithm& algorithm, unsigned threads, std::vector<QueryAnswer>& answers,
                    GpuStatistics& statistics);

  const IndexShards& shards_;
  std::vector<std::unique_ptr<FailoverEngine>> engines_;  ///< of the shards
  bool in_parallel_;                                      ///< shards work at the same time
};

}  // namespace quern
