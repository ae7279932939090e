#pragma once
#include "quern/core/parallel_batch.hpp"
#include "quern/search/algorithm.hpp"
#include "quern/search/query_engine.hpp"
#include "quern/search/query_terms.hpp"

/// The interface of all query processors: a CPU, GPUs, or both, over an index or all its shards.
namespace quern {

/// Documents that may be results, for each shard; empty: all.
using ShardFilters = std::span<const DocumentSet* const>;

/// The filter of a shard; null: all documents pass.
inline const DocumentSet* passing_of(ShardFilters passing, std::size_t shard) {
  return passing.empty() ? nullptr : passing[shard];
}

/// Queries, and what to find for them. All that a request refers to must outlive the search.
struct SearchRequest {
  std::span<const QueryView> queries;
  const QueryAlgorithm* algorithm = nullptr;
  std::size_t k = 10;          ///< documents per query, at least 1
  ShardFilters passing = {};   ///< documents that may be results
  bool others_arrive = false;  ///< whether more queries may come before these are answered

  /// A request for some of the queries.
  SearchRequest part(std::size_t first, std::size_t count) const {
    SearchRequest some = *this;
    some.queries = queries.subspan(first, count);
    return some;
  }
};

/// A query's results, with docIDs of the whole index, and their cost.
struct QueryAnswer {
  std::vector<ScoredDocument> documents;
  QueryStatistics statistics;
  double time_us = 0;  ///< to find them; on GPUs, the mean over the queries of a search
  std::string text;    ///< made by AnswerConsumer::render
};

/// Memory of an answer.
inline std::uint64_t answer_bytes(const QueryAnswer& answer) {
  return answer.documents.capacity() * sizeof(ScoredDocument) + answer.text.capacity();
}

/// Takes the answers to a request.
struct AnswerConsumer {
  /// Called in the thread that found the answer, for several answers at once; may set its text. May be empty.
  std::function<void(std::size_t query, QueryAnswer& answer)> render;
  /// Called in the thread that calls finish(), in the order of the queries.
  std::function<void(std::size_t query, const QueryAnswer& answer)> take;
  unsigned threads = 1;                           ///< that find answers on the CPU, and render
  std::uint64_t held_bytes = default_held_bytes;  ///< for answers that wait for their turn
};

/// A search under way. Its destructor waits for the processors.
class PendingSearch {
 public:
  explicit PendingSearch(const SearchRequest& request) : request_(request) {}
  virtual ~PendingSearch() = default;
  PendingSearch(const PendingSearch&) = delete;
  PendingSearch& operator=(const PendingSearch&) = delete;

  const SearchRequest& request() const { return request_; }

 private:
  const SearchRequest request_;
};

/// How a backend prefers many queries to be divided.
struct SearchDivision {
  std::size_t queries = 1;   ///< most queries of a search
  std::size_t searches = 1;  ///< searches under way at a time, including the one whose answers are handed over
};

class SearchBackend {
 public:
  virtual ~SearchBackend() = default;

  /// Hands queries to the processors, and returns. Thread-safe where one thread begins and another finishes.
  virtual std::unique_ptr<PendingSearch> begin(const SearchRequest& request) = 0;
  /// Waits for the answers to a search that this backend began, and hands them over. Throws InvalidArgument if k is 0,
  /// a filter is of another index, or the memory does not hold a query; CorruptFile if lists don't decode; CudaError if
  /// GPUs fail and no CPU takes over; and what the consumer throws. For one thread at a time.
  virtual void finish(PendingSearch& search, const AnswerConsumer& consumer) = 0;
  /// The division of these queries if answers may take `held_bytes`.
  virtual SearchDivision division(const SearchRequest& request, std::uint64_t held_bytes) = 0;
};

/// Answers queries: begins the next ones while earlier ones are finished. Throws like SearchBackend::finish().
void run(SearchBackend& backend, const SearchRequest& request, const AnswerConsumer& consumer);

/// Hands over `count` answers; find(i, answer) makes each in one of the consumer's threads.
template <class Find>
void hand_over(std::size_t count, const AnswerConsumer& consumer, Find&& find) {
  const auto answer = [&](std::size_t i, QueryAnswer& out) {
    find(i, out);
    if (consumer.render) consumer.render(i, out);
  };
  answer_in_batches<QueryAnswer>(count, consumer.threads, consumer.held_bytes, answer, answer_bytes, consumer.take);
}

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
