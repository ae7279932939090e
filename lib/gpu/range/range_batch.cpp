#include "quern/gpu/range/range_batch.hpp"

#include <bit>
#include <numeric>

#include "quern/search/document_set.hpp"

namespace quern::gpu {
namespace {

/// Upper bound of lookups: each document of a query's shortest list in each other list. A single list is read once.
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

/// Items of a batch are counted in 32 bits, and each warp adds one at the end.
constexpr std::uint64_t max_items = std::uint64_t{1} << 30;

/// Postings in each query's shortest list.
std::vector<std::uint32_t> shortest_lengths(const QueryBatch& batch) {
  std::vector<std::uint32_t> lengths;
  lengths.reserve(batch.queries.size());
  for (const BatchQuery& query : batch.queries)
    lengths.push_back(query.terms == 0 ? 0 : batch.lists[batch.terms[query.first_term].list].df);
  return lengths;
}

/// The class of queries whose shortest list has `postings` postings: twice as dense as in the class before.
unsigned class_of(std::uint64_t postings, std::uint64_t ranges, std::uint64_t documents) {
  unsigned number = 0;
  // Postings per item, times `ranges`. Lists have fewer than 2^32 postings.
  for (std::uint64_t item_postings = postings << max_spread;
       item_postings > documents * ranges && number + 1 < max_item_classes; item_postings /= 2)
    ++number;
  return number;
}

}  // namespace

std::vector<QuerySet> cut_query_sets(const QueryBatch& batch, std::size_t max_queries) {
  std::vector<QuerySet> query_sets;
  std::uint32_t terms = 0;
  for (std::uint32_t i = 0; i < batch.queries.size(); ++i) {
    if (query_sets.empty() || query_sets.back().queries == std::min<std::size_t>(max_set_queries, max_queries) ||
        terms + batch.queries[i].terms > max_set_terms) {
      query_sets.push_back({i, 0});
      terms = 0;
    }
    ++query_sets.back().queries;
    terms += batch.queries[i].terms;
  }
  return query_sets;
}

std::vector<QuerySet> cut_query_sets_for_gpu(const QueryBatch& batch) {
  const std::size_t items = batch.queries.size() * num_ranges(batch.engine().index().num_documents());
  return cut_query_sets(batch, std::max<std::size_t>(1, items / many_blocks));
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
  // Three copies of views and places: the batch's and two windows'.
  return batch.queries.size() *
             (sizeof(std::uint64_t) * (min_candidates(k) + k) + sizeof(std::uint32_t) * (threshold_steps + 16)) +
         sizeof(SpareCandidate) * max_spare(batch.queries.size()) +
         3 * (sizeof(ListView) + sizeof(EntryPlace)) * batch.lists.size() + sizeof(BatchTerm) * batch.terms.size() +
         2 * sizeof(std::uint32_t) * batch.raw_docids.size();
}

std::optional<WindowLimits> range_window_limits(const QueryBatch& batch, const BatchWork&, std::uint64_t words) {
  // A quarter of the words is for the ranges' starts and maxima.
  const std::uint64_t per_range = std::max<std::uint64_t>(2 * batch.lists.size(), 1);
  const std::uint64_t others = start_words(0) * batch.lists.size();
  if (words / 4 < others + per_range) return std::nullopt;
  WindowLimits limits;
  limits.ranges = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(num_ranges(batch.engine().index().num_documents()), (words / 4 - others) / per_range));
  limits.entries = words / 4 * 3;
  return limits;
}

IntersectionItems::IntersectionItems(const QueryBatch& batch, std::optional<std::uint64_t> documents) {
  const std::vector<std::uint32_t> lengths = shortest_lengths(batch);
  const std::uint32_t ranges = std::max(1u, num_ranges(batch.engine().index().num_documents()));
  // Items must not exceed their counter.
  const std::uint64_t all = std::accumulate(lengths.begin(), lengths.end(), std::uint64_t{0}),
                      least = std::max<std::uint64_t>(1, all / (max_items / 8)),
                      for_gpu = std::clamp<std::uint64_t>(all / items_per_intersection, min_item_documents,
                                                          max_item_documents),
                      wanted = std::max(least, documents.value_or(for_gpu));
  std::array<std::vector<std::uint32_t>, max_item_classes> queries;
  for (std::uint32_t i = 0; i < lengths.size(); ++i) queries[class_of(lengths[i], ranges, wanted)].push_back(i);
  queries_.reserve(lengths.size());
  for (unsigned number = 0; number < max_item_classes; ++number) {
    if (queries[number].empty()) continue;
    ItemClass& added = classes_.emplace_back();
    added.first_query = static_cast<std::uint32_t>(queries_.size());
    added.queries = static_cast<std::uint32_t>(queries[number].size());
    added.spread = static_cast<std::uint8_t>(number < max_spread ? max_spread - number : 0);
    added.cut = static_cast<std::uint8_t>(number > max_spread ? number - max_spread : 0);
    queries_.insert(queries_.end(), queries[number].begin(), queries[number].end());
  }
}

ItemsView IntersectionItems::view(std::uint32_t ranges) const {
  ItemsView view;
  if (classes_.empty() || ranges == 0) return view;
  // No item covers more ranges than a window has, except at its end.
  view.span_shift = std::min<std::uint32_t>(classes_.front().spread, std::bit_width(ranges - 1));
  for (std::size_t i = 0; i < classes_.size(); ++i) {
    ItemClass& item_class = view.classes[i] = classes_[i];
    item_class.spread = std::min(item_class.spread, static_cast<std::uint8_t>(view.span_shift));
    view.items_per_span += item_class.queries << item_class.cut << (view.span_shift - item_class.spread);
    item_class.end = view.items_per_span;
  }
  view.all = view.items_per_span *
             static_cast<std::uint32_t>((std::uint64_t{ranges} + (1u << view.span_shift) - 1) >> view.span_shift);
  return view;
}

}  // namespace quern::gpu
