#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/cache/cache_blocks.hpp"
#include "quern/core/resources.hpp"
#include "quern/query/query_engine.hpp"

/// What a cache of fronts of lists would do for a log of queries by `and` (Wang et al. 3.4, 4.3).
namespace quern {

/// Caching blocks that are kept of the list with this number; 0 for lists of which nothing is.
using CachedBlocks = std::function<std::uint64_t(term_t)>;

struct CacheFigures {
  std::uint64_t queries = 0;             ///< that find something; the others are left out of all that follows
  std::uint64_t unknown = 0, empty = 0;  ///< with a term that is not in the index or without any; without a result
  std::uint64_t list_requests = 0;
  std::uint64_t list_hits = 0;       ///< requests for lists of which the first block is cached at least
  std::uint64_t block_requests = 0;  ///< blocks that queries visit
  std::uint64_t block_hits = 0;      ///< of them cached
  std::uint64_t served = 0;          ///< queries that need neither transfer nor post-processing
  std::uint64_t post_processed = 0;  ///< queries that the CPU goes on with
  /// Postings of their shortest lists that it reads then.
  std::uint64_t post_processed_postings = 0;
  std::uint64_t transfer_bytes = 0;  ///< whole lists of which nothing is cached, query by query
  /// The same where a batch transfers a list but once, and the number of batches.
  std::uint64_t batch_transfer_bytes = 0, batches = 0;

  double hit_rate() const;
  double block_hit_rate() const;
  double transfer_bytes_per_query() const;
  double transfer_bytes_per_batch() const;
};

/// The queries of a log as a cache sees them: what they visit, where they end. Made once, for any number of caches.
class CacheTrace {
 public:
  /// Runs each distinct query once, as LogDemand does; in parallel. `round`: postings of the shortest list between two
  /// tests for early termination.
  CacheTrace(const QueryEngine& engine, std::span<const std::string_view> texts, std::size_t k, std::uint64_t round,
             const Resources& resources);

  /// `batch`: queries that are transferred together.
  ///
  /// A list of which nothing is cached is transferred whole. Of a list that is cached in part the rest stays away. Let
  /// m be the least of the last cached docIDs of such lists: up to m the fronts hold what the lists hold. A query that
  /// ends after a document above m, early or not, is gone on with by the CPU, from the first document of its shortest
  /// list above m.
  CacheFigures simulate(const CacheBlocks& blocks, const CachedBlocks& cached, std::uint64_t batch) const;

 private:
  struct Request {
    term_t term;
    docid_t end;  ///< one more than the last docID visited
  };
  struct TracedQuery {
    std::vector<Request> requests;  ///< in the order of summation; none where the query finds nothing
    docid_t end = 0;                ///< one more than the last docID of the shortest list that is looked at
    bool known = false;             ///< all terms are in the index
  };

  /// Adds what one query asks of the cache.
  void serve(const TracedQuery& query, const CacheBlocks& blocks, const CachedBlocks& cached,
             CacheFigures& figures) const;

  const IndexReader& index_;
  std::vector<TracedQuery> distinct_;
  std::vector<std::uint32_t> log_;  ///< of each query of the log, its place in distinct_
  std::map<term_t, PostingList> lists_;
};

}  // namespace quern
