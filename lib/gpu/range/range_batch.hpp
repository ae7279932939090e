#pragma once
#include <vector>

#include "quern/gpu/engine/query_batch.hpp"

/// What the strategy `range` works out about a batch on the host.
namespace quern::gpu {

/// Queries that a thread block takes together.
struct BatchChunk {
  std::uint32_t first_query = 0, queries = 0;
};

/// A chunk's maxima: what a thread block has shared memory for.
inline constexpr std::uint32_t chunk_queries = 32, chunk_terms = 160;

/// Candidates that a GPU keeps per query: the k results must be among them.
inline constexpr std::size_t few_candidates = 4096, many_candidates = 8192;
inline constexpr std::size_t max_candidates(std::size_t k) { return k <= 256 ? few_candidates : many_candidates; }

/// Ranges of docIDs in a collection.
std::uint32_t num_ranges(docid_t num_documents);

/// Cuts a batch's queries into chunks of at most `max_queries`.
std::vector<BatchChunk> cut_chunks(const QueryBatch& batch, std::size_t max_queries = chunk_queries);

/// Cuts them so that each of a large GPU's thread blocks, or of its warps for an intersection, gets several pieces of
/// work if there are enough.
std::vector<BatchChunk> cut_chunks_for_gpu(const QueryBatch& batch, bool intersect);

/// Whether all lists of the batch are decoded to entries. A few intersections skip to the blocks that they need, and so
/// do batches in which a query has more terms than a warp has lanes.
bool decodes_lists(const QueryBatch& batch, bool intersect);

/// GPU memory that a batch takes at k results per query, roughly, besides the lists themselves.
std::uint64_t range_batch_bytes(const QueryBatch& batch, std::size_t k);

}  // namespace quern::gpu
