#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "quern/core/resources.hpp"
#include "quern/gpu/store/list_cache.hpp"
#include "quern/query/query_engine.hpp"

/// Measures what a GPU smaller than the index would have to copy for a log of queries, without a GPU: ListCache decides
/// what stays, and nothing is copied.
namespace quern {

struct ListCacheCase {
  std::uint64_t bytes = 0;  ///< of memory for lists
  std::uint64_t batch = 1;  ///< queries at most; fewer if their lists take more than half of the memory
  gpu::ListRetention retention = gpu::ListRetention::lfu;
};

struct ListCacheFigures {
  std::uint64_t queries = 0, batches = 0;
  std::uint64_t left_out = 0;  ///< queries whose lists alone do not fit
  gpu::ListCacheCounts counts;
};

/// Runs the queries with all of their terms in the index through an empty cache, in their order. Throws InvalidArgument
/// if there is none.
ListCacheFigures replay_queries(const QueryEngine& engine, std::span<const std::string_view> texts,
                                const ListCacheCase& of);

}  // namespace quern
