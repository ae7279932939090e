#pragma once
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "quern/formats/index_shards.hpp"
#include "quern/gpu/failover.hpp"
#include "quern/search/shard_search.hpp"

/// Answers queries over all shards of an index, as over the whole: each shard finds its best documents, and the best of
/// these are the whole's, since shards score as it does.
namespace quern {

class ShardedEngine {
 public:
  /// Copies shards to GPUs unless `device` is the CPU: the first to the GPU of the options, the next to the one after
  /// it, as many as `options.gpus`, and so on from the first again. So each GPU has a range of documents, and decodes
  /// each list of a batch once. `engines`, those of the shards in their order, must outlive the object; all have the
  /// same options. Throws as FailoverEngine does.
  ShardedEngine(const IndexShards& shards, std::span<const std::unique_ptr<QueryEngine>> engines, QueryDevice device,
                const GpuOptions& options, Progress& progress, const FailoverNotice& notice);

  /// Queries that GPUs of all shards work on already, unless the CPU answers all. It waits for them when it ends.
  class Begun;

  /// Hands queries to the GPUs of all shards, and returns. `passing`: of each shard, or empty. What is passed must
  /// outlive what is returned. Throws as FailoverEngine::begin() does. Thread-safe.
  std::unique_ptr<Begun> begin(std::span<const std::string_view> texts, const QueryAlgorithm& algorithm, std::size_t k,
                               const ShardFilters& passing);
  /// As run_batch(), of queries that were begun, with docIDs of the whole. On the CPU, each thread answers a query over
  /// all shards (ShardSearch); of GPUs, it merges what the shards found. and-or asks for the documents with all terms
  /// in all shards first. Adds to `statistics` of each shard what its GPU did. Throws as FailoverEngine::finish() does.
  /// For one thread at a time.
  void finish(Begun& begun, unsigned threads, const BatchSteps& steps, std::span<GpuStatistics> statistics,
              std::uint64_t held_bytes);
  /// Begins and finishes any number of queries: GPUs work on the next ones while the answers to some are merged and
  /// handed over. All that are begun take about `held_bytes`. Throws as finish() does.
  void run(std::span<const std::string_view> texts, const QueryAlgorithm& algorithm, std::size_t k, unsigned threads,
           const BatchSteps& steps, std::span<GpuStatistics> statistics, std::uint64_t held_bytes,
           const ShardFilters& passing = {});

 private:
  /// What all shards found, of each query.
  class Found;

  bool on_gpus(const ShardFilters& passing) const;
  /// How many queries of k results are begun at a time, if what is held takes no more than so many bytes.
  std::size_t queries_at_once(std::size_t k, std::uint64_t held_bytes) const;
  void finish_on_cpu(const Begun& begun, unsigned threads, const BatchSteps& steps, std::uint64_t held_bytes) const;
  /// Waits for what the shards found.
  Found found(Begun& begun, unsigned threads, std::span<GpuStatistics> statistics);
  /// Of queries that were asked for with all terms: replaces what was found for those that have too few results by
  /// documents with any of the terms.
  void find_any(const Begun& begun, unsigned threads, std::span<GpuStatistics> statistics, Found& found);

  const IndexShards& shards_;
  const ShardSearch cpu_;
  std::vector<std::unique_ptr<FailoverEngine>> engines_;  ///< of the shards
};

class ShardedEngine::Begun {
 private:
  friend ShardedEngine;

  Begun(std::span<const std::string_view> texts, const QueryAlgorithm& algorithm, std::size_t k,
        const ShardFilters& passing)
      : texts_(texts), algorithm_(algorithm), k_(k), passing_(passing) {}

  bool wants_all_first() const { return algorithm_.matching == Matching::all_else_any; }

  const std::span<const std::string_view> texts_;
  const QueryAlgorithm& algorithm_;
  const std::size_t k_;
  const ShardFilters& passing_;
  std::vector<std::unique_ptr<FailoverEngine::Begun>> of_shards_;  ///< empty: the CPU answers
};

}  // namespace quern
