#pragma once
#include "quern/io/spool.hpp"
#include "quern/plan/log_demand.hpp"
#include "quern/search/query_engine.hpp"

/// Simulates a cache of list prefixes for a log of `and` queries (Wang et al. 3.4, 4.3).
namespace quern {

/// Maps a term to the number of cached blocks of its list; 0 if the list is not cached.
using CachedBlocks = std::function<std::uint64_t(term_t)>;

struct CacheFigures {
  std::uint64_t queries = 0;  ///< with results; other queries don't count below
  std::uint64_t unknown = 0,
                empty = 0;           ///< unknown: without terms, or with one that isn't indexed; empty: without results
  std::uint64_t list_requests = 0;   ///< for lists of more than one block; others are transferred with queries
  std::uint64_t list_hits = 0;       ///< requests for lists with at least one cached block
  std::uint64_t block_requests = 0;  ///< blocks that queries visit
  std::uint64_t block_hits = 0;      ///< visited blocks that are cached
  std::uint64_t served = 0;          ///< queries that need neither transfer nor post-processing
  std::uint64_t post_processed = 0;  ///< queries that the CPU continues
  /// Postings that the CPU reads of the shortest lists of post-processed queries.
  std::uint64_t post_processed_postings = 0;
  std::uint64_t transfer_bytes = 0;  ///< uncached lists, transferred whole for each query
  /// Bytes if each batch transfers a list only once, and the number of batches.
  std::uint64_t batch_transfer_bytes = 0, batches = 0;

  double hit_rate() const;
  double block_hit_rate() const;
  double transfer_bytes_per_query() const;
  double transfer_bytes_per_batch() const;
};

/// The queries of a log as a cache sees them: their visits and ends. Made once for any number of caches. Kept in a work
/// file unless small. For one thread at a time.
class CacheTrace {
 public:
  /// Runs each distinct query of the log once, with visit_log(). `round`: postings of the shortest list between two
  /// tests for early termination. The index must outlive the trace.
  CacheTrace(const QueryEngine& engine, LogQueries& log, std::size_t k, std::uint64_t round,
             const Resources& resources);

  /// `batch`: queries whose lists are transferred together.
  ///
  /// An uncached list is transferred whole; the rest of a partly cached list is not. Let m be the lowest of the last
  /// cached docIDs of partly cached lists: up to m, the prefixes equal the lists. If a query ends after m, early or
  /// not, the CPU continues it from the first document of its shortest list above m.
  CacheFigures simulate(const CacheBlocks& blocks, const CachedBlocks& cached, std::uint64_t batch) const;

 private:
  struct Request {
    term_t term;
    docid_t end;  ///< one past the last docID visited
  };
  struct TracedQuery {
    std::vector<Request> requests;  ///< in the order of summation
    docid_t end = 0;                ///< one past the last docID read in the shortest list
  };
  class Lists;

  static void put(const std::vector<ListVisit>& visits, Bytes& to);
  static void read(SpoolReader& reader, TracedQuery& query);
  /// Adds one query to `figures`.
  static void serve(const TracedQuery& query, const CacheBlocks& blocks, const CachedBlocks& cached, Lists& lists,
                    CacheFigures& figures);

  const IndexReader& index_;
  unsigned threads_;
  std::uint64_t memory_bytes_;
  CacheFigures left_out_;  ///< counts of queries without results
  std::uint64_t queries_ = 0;
  Spool traced_;  ///< the queries with results, in the order of the log
};

}  // namespace quern
