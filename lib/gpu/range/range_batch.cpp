#include "quern/gpu/range/range_batch.hpp"

#include <algorithm>
#include <span>

#include "quern/gpu/device/entry_place.hpp"
#include "quern/gpu/device/tuning.hpp"
#include "quern/search/document_set.hpp"

namespace quern::gpu {
namespace {

/// Documents of the queries' shortest lists that may have to be looked up in each of the others. Those of a list alone
/// are read.
std::uint64_t lookups(const QueryBatch& batch) {
  std::uint64_t sum = 0;
  for (const BatchQuery& query : batch.queries) {
    if (query.terms == 0) continue;
    const auto terms = std::span(batch.terms).subspan(query.first_term, query.terms);
    const auto length = [&](const BatchTerm& term) { return batch.lists[term.list].df; };
    const auto shortest = std::min_element(
        terms.begin(), terms.end(), [&](const BatchTerm& a, const BatchTerm& b) { return length(a) < length(b); });
    sum += std::uint64_t{length(*shortest)} * std::max(1u, query.terms - 1);
  }
  return sum;
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

std::vector<BatchChunk> cut_chunks_for_gpu(const QueryBatch& batch) {
  const std::size_t pieces = batch.queries.size() * num_ranges(batch.engine().index().num_documents());
  return cut_chunks(batch, std::max<std::size_t>(1, pieces / many_blocks));
}

std::vector<std::uint8_t> ranges_that_pass(const DocumentSet* passing) {
  std::vector<std::uint8_t> passes;
  if (passing == nullptr) return passes;
  const docid_t all = passing->num_documents();
  for (std::uint32_t range = 0; range < num_ranges(all); ++range) {
    const docid_t begin = range * range_documents, end = std::min(all - begin, range_documents) + begin;
    passes.push_back(passing->next(begin, end) < end);
  }
  return passes;
}

bool range_decodes_lists(const QueryBatch& batch, const BatchWork& work, const StrategyOptions& options,
                         bool lists_stay) {
  if (!work.intersect || options.decodes_always) return true;
  const std::uint64_t per_batch = lists_stay ? kept_lookups_per_batch : lookups_per_batch;
  const std::uint64_t per_query = lists_stay ? kept_lookups_per_query : lookups_per_query;
  return lookups(batch) > per_batch + per_query * batch.queries.size();
}

std::uint64_t range_batch_bytes(const QueryBatch& batch, std::size_t k) {
  // The lists' views and places: of the batch, and of two windows.
  return batch.queries.size() *
             (sizeof(std::uint64_t) * (max_candidates(k) + k) + sizeof(std::uint32_t) * (threshold_steps + 16)) +
         sizeof(SpareCandidate) * max_spare(batch.queries.size()) +
         3 * (sizeof(ListView) + sizeof(EntryPlace)) * batch.lists.size() + sizeof(BatchTerm) * batch.terms.size() +
         2 * sizeof(std::uint32_t) * batch.raw_docids.size();
}

std::optional<WindowLimits> range_window_limits(const QueryBatch& batch, const BatchWork&, std::uint64_t words) {
  // A quarter is for the ranges' starts and maxima.
  const std::uint64_t per_range = std::max<std::uint64_t>(2 * batch.lists.size(), 1);
  const std::uint64_t others = start_words(0) * batch.lists.size();
  if (words / 4 < others + per_range) return std::nullopt;
  WindowLimits limits;
  limits.ranges = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(num_ranges(batch.engine().index().num_documents()), (words / 4 - others) / per_range));
  limits.entries = words / 4 * 3;
  return limits;
}

}  // namespace quern::gpu
