#pragma once
#include <optional>
#include <vector>

#include "quern/gpu/device/tuning.hpp"
#include "quern/gpu/store/document_windows.hpp"
#include "quern/gpu/worker/query_batch.hpp"
#include "quern/gpu/worker/strategy.hpp"

/// How the strategy `range` divides a batch; computed on the host.
namespace quern::gpu {

/// Queries that a thread block answers together in a range.
struct BatchChunk {
  std::uint32_t first_query = 0, queries = 0;
};

/// Maximum queries and terms of a chunk: what fits a thread block's shared memory.
inline constexpr std::uint32_t chunk_queries = 32, chunk_terms = 160;

/// Maximum candidates that a GPU stores per query; the k results must be among them.
inline constexpr std::size_t few_candidates = 4096, many_candidates = 8192;
inline constexpr std::size_t max_candidates(std::size_t k) { return k <= 256 ? few_candidates : many_candidates; }

/// A candidate for which its query's own candidates have no room. See RangeView.
struct SpareCandidate {
  std::uint64_t candidate = 0;
  std::uint32_t query = 0, unused = 0;
};
/// How many of them a GPU stores for a batch.
inline constexpr std::size_t max_spare(std::size_t queries) {
  return spare_candidates + spare_candidates_per_query * queries;
}

/// Cuts a batch's queries into chunks of at most `max_queries`.
std::vector<BatchChunk> cut_chunks(const QueryBatch& batch, std::size_t max_queries = chunk_queries);

/// Cuts a batch's queries into chunks that are small enough for several pieces of work per thread block of a large GPU.
std::vector<BatchChunk> cut_chunks_for_gpu(const QueryBatch& batch);

/// For each range of documents, 1 if some of them pass; nothing if `passing` is null.
std::vector<std::uint8_t> ranges_that_pass(const DocumentSet* passing);

/// See Strategy::decodes_lists. Intersections that look few documents up read only the blocks that they need.
bool range_decodes_lists(const QueryBatch& batch, const BatchWork& work, const StrategyOptions& options,
                         bool lists_stay);

/// Approximate GPU memory of a batch with k results per query, without the index and decoded lists.
std::uint64_t range_batch_bytes(const QueryBatch& batch, std::size_t k);

/// See Strategy::window_limits. Windows are decoded whole.
std::optional<WindowLimits> range_window_limits(const QueryBatch& batch, const BatchWork& work, std::uint64_t words);

}  // namespace quern::gpu
