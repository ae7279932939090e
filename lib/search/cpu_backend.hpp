#pragma once
#include <memory>
#include <span>
#include <vector>

#include "quern/search/query_engine.hpp"
#include "quern/search/search_backend.hpp"

namespace quern {

/// Answers queries on the CPU, over all shards of an index, which score as the whole index does. An index that was
/// never cut is one shard.
class CpuBackend final : public SearchBackend {
 public:
  /// `engines`: of the shards in their order, at least one, with the same options. They must outlive the object.
  explicit CpuBackend(std::vector<const QueryEngine*> engines);

  std::unique_ptr<PendingSearch> begin(const SearchRequest& request) override;
  /// Each thread answers a query over all shards.
  void finish(PendingSearch& search, const AnswerConsumer& consumer) override;
  SearchDivision division(const SearchRequest& request, std::uint64_t held_bytes) override;

  /// The k best documents of a query, with docIDs of the whole index. Earlier shards' results set the score that a
  /// shard's documents must exceed. and-or first looks for documents with all terms in all shards. Adds to *statistics,
  /// unless it is null. Throws like QueryEngine::search(). Thread-safe.
  std::vector<ScoredDocument> search(QueryView query, const QueryAlgorithm& algorithm, std::size_t k,
                                     QueryStatistics* statistics = nullptr, ShardFilters passing = {}) const;
  std::span<const QueryEngine* const> engines() const { return engines_; }

 private:
  const std::vector<const QueryEngine*> engines_;
};

/// The docID, among those of all shards, of the first document of an engine that is one of `shards`.
inline docid_t first_docid(const QueryEngine& engine, std::size_t shards) {
  return shards == 1 ? 0 : static_cast<docid_t>(engine.index().manifest().docid_base);
}

}  // namespace quern
