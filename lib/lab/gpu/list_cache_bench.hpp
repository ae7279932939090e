#pragma once
#include "quern/gpu/store/list_cache.hpp"
#include "quern/search/query_engine.hpp"

/// Replays a log of queries without a GPU, to measure the bytes that a GPU smaller than the index would copy: ListCache
/// decides which lists stay, and nothing is copied.
namespace quern {

/// `block_size` is taken from the index.
struct ListCacheCase : gpu::ListCacheOptions {
  /// Maximum queries; fewer if their lists exceed half of the memory left by a plan or, with `all_for_fronts`, those
  /// that are missing exceed a list buffer, which is half of the words of windows.
  std::uint64_t batch = 1;
  const CachePlan* plan = nullptr;  ///< its fronts stay cached
  /// Whether batches whose lists exceed that half go through windows of documents (see DocumentWindows): each list that
  /// is not in memory and does not fit there is copied once, without its front. Blocks at window borders are copied
  /// twice.
  bool by_windows = false;
  /// Whether batches read only the front of a list that has one, since the CPU goes on from there: see ListTails::cpu.
  bool ends_on_fronts = false;
  unsigned flights = 1;  ///< batches in flight
  unsigned passes = 1;   ///< over the queries; only the last counts
};

struct ListCacheFigures {
  std::uint64_t queries = 0, batches = 0;
  std::uint64_t windowed = 0;      ///< batches processed by windows of documents
  std::uint64_t windows = 0;       ///< total of these batches
  std::uint64_t window_lists = 0;  ///< lists of these batches, counted once per window
  std::uint64_t left_out = 0;      ///< queries whose lists alone do not fit
  gpu::ListCacheCounts counts;
};

struct LogLists {
  /// In the order of the log; empty for queries that engines answer without lists: those with no term in the index or,
  /// for algorithms that need all terms, with a missing one.
  std::vector<std::vector<WeightedList>> queries;
  double find_us = 0;  ///< per query, for finding them on many threads, like GpuEngine
};
LogLists find_log_lists(const QueryEngine& engine, std::span<const QueryView> queries, Matching matching);

/// Runs queries through an empty cache, in order; those without lists don't count.
ListCacheFigures replay_lists(const IndexReader& index, std::span<const std::vector<WeightedList>* const> queries,
                              ListCacheCase options);

/// Runs the queries with all of their terms in the index through an empty cache, in their order. Throws InvalidArgument
/// if there is none.
ListCacheFigures replay_queries(const QueryEngine& engine, std::span<const QueryView> queries,
                                const ListCacheCase& options);

}  // namespace quern
