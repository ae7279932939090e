#include "quern/gpu/range/range_batch.hpp"

#include <algorithm>

#include "quern/gpu/device/tuning.hpp"

namespace quern::gpu {
namespace {

/// Of where ranges start in lists, and the greatest values in them.
std::uint64_t starts_bytes(const QueryBatch& batch, std::uint64_t ranges) {
  return 2 * sizeof(std::uint32_t) * (ranges + 1) * batch.lists.size();
}

}  // namespace

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

bool can_decode_lists(const QueryBatch& batch, bool intersect) {
  constexpr std::uint32_t warp_terms = 32;
  return !intersect || std::all_of(batch.queries.begin(), batch.queries.end(),
                                   [](const BatchQuery& query) { return query.terms <= warp_terms; });
}

bool decodes_lists(const QueryBatch& batch, bool intersect) {
  return can_decode_lists(batch, intersect) && (!intersect || batch.queries.size() > max_skipping_queries);
}

std::uint64_t range_query_bytes(const QueryBatch& batch, std::size_t k) {
  // The lists' views: of the batch, and of two windows.
  return batch.queries.size() *
             (sizeof(std::uint64_t) * (max_candidates(k) + k) + sizeof(std::uint32_t) * (threshold_steps + 16)) +
         3 * sizeof(ListView) * batch.lists.size() + sizeof(BatchTerm) * batch.terms.size() +
         2 * sizeof(std::uint32_t) * batch.raw_docids.size();
}

std::uint64_t range_batch_bytes(const QueryBatch& batch, std::size_t k) {
  const std::uint64_t ranges = num_ranges(batch.engine().index().num_documents());
  return sizeof(std::uint32_t) * batch.entries + starts_bytes(batch, ranges) + range_query_bytes(batch, k);
}

std::optional<WindowLimits> range_window_limits(const QueryBatch& batch, const BatchWork& work, std::uint64_t bytes) {
  if (!can_decode_lists(batch, work.intersect)) return std::nullopt;
  const std::uint64_t taken = range_query_bytes(batch, work.k);
  if (taken >= bytes) return std::nullopt;
  // A quarter of the rest is for the ranges' starts, of which there is one more than ranges.
  const std::uint64_t left = bytes - taken, starts = left / 4 / std::max<std::uint64_t>(starts_bytes(batch, 0), 1);
  if (starts < 2) return std::nullopt;
  WindowLimits limits;
  limits.ranges = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(num_ranges(batch.engine().index().num_documents()), starts - 1));
  limits.entries = left / 4 * 3 / sizeof(std::uint32_t);
  return limits;
}

}  // namespace quern::gpu
