#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "quern/gpu/store/list_cache.hpp"
#include "quern/search/query_engine.hpp"

/// Measures what a GPU smaller than the index would have to copy for a log of queries, without a GPU: ListCache decides
/// what stays, and nothing is copied.
namespace quern {

struct ListCacheCase {
  gpu::ListArenas arenas;   ///< the memory for lists
  std::uint64_t batch = 1;  ///< queries at most; fewer if their lists take more than half of what a plan leaves
  gpu::ListRetention retention = gpu::ListRetention::lfu;
  bool with_impacts = false;        ///< whether quantized impacts are kept with the lists
  const CachePlan* plan = nullptr;  ///< whose fronts stay
  /// Whether batches whose lists take more than half go through windows of documents instead (see DocumentWindows):
  /// each list comes once, but for its front, and no others stay. Blocks at borders of windows come twice. Windows are
  /// as large as the memory for lists lets them be.
  bool by_windows = false;
  unsigned flights = 1;  ///< batches that use their lists at a time
  unsigned passes = 1;   ///< over the queries, of which the last counts
};

struct ListCacheFigures {
  std::uint64_t queries = 0, batches = 0;
  std::uint64_t windowed = 0;      ///< batches that go through windows of documents
  std::uint64_t windows = 0;       ///< of all these
  std::uint64_t window_lists = 0;  ///< lists of these batches, each as often as its batch has windows
  std::uint64_t left_out = 0;      ///< queries whose lists alone do not fit
  gpu::ListCacheCounts counts;
};

/// The lists of a log's queries.
struct LogLists {
  /// In the order of the log; none of a query that engines answer without them: with no term in the index or, for
  /// algorithms that need them all, without one of them.
  std::vector<std::vector<WeightedList>> queries;
  double find_us = 0;  ///< per query, to find them in many threads as GpuEngine does
};
LogLists find_log_lists(const QueryEngine& engine, std::span<const QueryView> queries, Matching matching);

/// Runs queries through an empty cache, in their order; those without lists are not counted.
ListCacheFigures replay_lists(const IndexReader& index, std::span<const std::vector<WeightedList>* const> queries,
                              const ListCacheCase& of);

/// Runs the queries with all of their terms in the index through an empty cache, in their order. Throws InvalidArgument
/// if there is none.
ListCacheFigures replay_queries(const QueryEngine& engine, std::span<const QueryView> queries, const ListCacheCase& of);

}  // namespace quern
