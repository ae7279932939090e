#pragma once
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "quern/formats/index_shards.hpp"
#include "quern/search/query_engine.hpp"

namespace quern {

/// Documents that may be results, of each shard; empty: all.
using ShardFilters = std::vector<const DocumentSet*>;

/// Of one of them; null: all.
inline const DocumentSet* passing_of(const ShardFilters& passing, std::size_t shard) {
  return passing.empty() ? nullptr : passing[shard];
}

/// Answers single queries over all shards of an index on the CPU, as over the whole. Thread-safe if each thread uses
/// its own analyzer.
class ShardSearch {
 public:
  /// `engines`, those of the shards in their order, with the same options. All must outlive the object.
  ShardSearch(const IndexShards& shards, std::span<const std::unique_ptr<QueryEngine>> engines)
      : shards_(shards), engines_(engines) {}

  Analyzer make_analyzer() const { return engines_.front()->make_analyzer(); }
  /// The k best documents, with docIDs of the whole. The text is read once, and what a shard's documents must score is
  /// known from the shards before it. and-or asks for the documents with all terms in all shards first. Adds to
  /// *statistics, unless it is null. Throws as QueryEngine::search() does.
  std::vector<ScoredDocument> search(std::string_view text, const QueryAlgorithm& algorithm, std::size_t k,
                                     Analyzer& analyzer, QueryStatistics* statistics = nullptr,
                                     const ShardFilters& passing = {}) const;

 private:
  const IndexShards& shards_;
  std::span<const std::unique_ptr<QueryEngine>> engines_;
};

}  // namespace quern
