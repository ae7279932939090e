#include "quern/gpu/range/range_batch.hpp"

#include <algorithm>

#include "quern/gpu/device/tuning.hpp"

namespace quern::gpu {

std::uint32_t num_ranges(docid_t num_documents) {
  return static_cast<std::uint32_t>((std::uint64_t{num_documents} + range_documents - 1) / range_documents);
}

std::vector<BatchChunk> cut_chunks(const QueryBatch& batch, std::size_t max_queries) {
  std::vector<BatchChunk> chunks;
  std::uint32_t terms = 0;
  for (std::uint32_t i = 0; i < batch.queries.size(); ++i) {
    if (chunks.empty() || chunks.back().queries == std::min<std::size_t>(chunk_queries, max_queries) ||
        terms + batch.queries[i].terms > chunk_terms) {
      chunks.push_back({i, 0});
      terms = 0;
    }
    ++chunks.back().queries;
    terms += batch.queries[i].terms;
  }
  return chunks;
}

std::vector<BatchChunk> cut_chunks_for_gpu(const QueryBatch& batch, bool intersect) {
  const std::size_t pieces = batch.queries.size() * num_ranges(batch.engine().index().num_documents());
  return cut_chunks(batch, std::max<std::size_t>(1, pieces / (intersect ? many_warps : many_blocks)));
}

bool decodes_lists(const QueryBatch& batch, bool intersect) {
  constexpr std::uint32_t warp_terms = 32;
  return !intersect || (batch.queries.size() > max_skipping_queries &&
                        std::all_of(batch.queries.begin(), batch.queries.end(),
                                    [](const BatchQuery& query) { return query.terms <= warp_terms; }));
}

std::uint64_t range_batch_bytes(const QueryBatch& batch, std::size_t k) {
  const std::uint64_t ranges = num_ranges(batch.engine().index().num_documents());
  return sizeof(std::uint32_t) * batch.entries + 2 * sizeof(std::uint32_t) * (ranges + 1) * batch.lists.size() +
         batch.queries.size() * (sizeof(std::uint64_t) * max_candidates(k) + sizeof(std::uint32_t) * threshold_steps);
}

}  // namespace quern::gpu
