#pragma once
#include "quern/gpu/store/document_windows.hpp"
#include "quern/gpu/worker/query_batch.hpp"
#include "quern/gpu/worker/strategy.hpp"

/// Division of an intersection from entries into items, which warps take. Host code.
namespace quern::gpu {

/// Queries with shortest lists of similar density. An item lies in one range or covers several neighbouring ranges.
struct ItemClass {
  std::uint32_t first_query = 0, queries = 0;  ///< in ItemsView::queries
  std::uint32_t end = 0;                       ///< items of a span, of this class and earlier ones
  std::uint8_t cut = 0;                        ///< 2^cut items divide a range
  std::uint8_t spread = 0;                     ///< an item covers 2^spread ranges
};

/// An item covers at most 2^max_spread ranges, one per lane of a warp; at most 2^max_cut items divide a range.
inline constexpr unsigned max_spread = 5, max_cut = 7;
/// One per density, so that all items of a class have the same size.
inline constexpr unsigned max_item_classes = max_spread + max_cut + 1;

/// The items of a batch or window, in the order of documents, so that thresholds rise before a query's later documents
/// are looked up: one *span* of neighbouring ranges after another, and in each span class by class.
struct ItemsView {
  const std::uint32_t* queries = nullptr;  ///< the batch's, by class
  ItemClass classes[max_item_classes] = {};
  std::uint32_t span_shift = 0;               ///< a span is 2^span_shift ranges
  std::uint32_t items_per_span = 0, all = 0;  ///< items
};

/// The documents of a query that a warp takes.
struct IntersectionItem {
  std::uint32_t query = 0;
  std::uint32_t first_range = 0, ranges = 0;  ///< 0: the last span is shorter than others
  std::uint32_t place = 0, places = 1;        ///< `places` items divide the ranges' documents; this is number `place`
};

/// Item `work` of a batch or window of `ranges` ranges; it must be below ItemsView::all.
constexpr IntersectionItem item_of(const ItemsView& items, std::uint32_t ranges, std::uint32_t work) {
  const std::uint32_t span = work / items.items_per_span;
  std::uint32_t own = work % items.items_per_span, number = 0;
  while (own >= items.classes[number].end) ++number;
  const ItemClass& item_class = items.classes[number];
  if (number > 0) own -= items.classes[number - 1].end;
  // Each place of all queries before the next place.
  const std::uint32_t place = own / item_class.queries, max_ranges = 1u << item_class.spread;
  IntersectionItem item;
  item.query = items.queries[item_class.first_query + own % item_class.queries];
  item.places = 1u << item_class.cut;
  item.place = place % item.places;
  item.first_range = (span << items.span_shift) + (place / item.places << item_class.spread);
  if (item.first_range >= ranges) return item;
  item.ranges = ranges - item.first_range < max_ranges ? ranges - item.first_range : max_ranges;
  return item;
}

/// The queries of a batch by class.
class IntersectionItems {
 public:
  IntersectionItems() = default;
  /// Makes items with about `documents` documents of the shortest list; by default, enough items for a large GPU.
  explicit IntersectionItems(const QueryBatch& batch, std::optional<std::uint64_t> documents = std::nullopt);

  const std::vector<std::uint32_t>& queries() const { return queries_; }
  /// The items of `ranges` ranges; without ItemsView::queries.
  ItemsView view(std::uint32_t ranges) const;

 private:
  std::vector<std::uint32_t> queries_;
  std::vector<ItemClass> classes_;  ///< without empty ones; `end` is not set
};

/// Consecutive queries that a thread block answers together in a range.
struct QuerySet {
  std::uint32_t first_query = 0, queries = 0;
};

/// Maximum queries and terms of a set, limited by a thread block's shared memory.
inline constexpr std::uint32_t max_set_queries = 32, max_set_terms = 160;

/// Maximum candidates that a thread block sorts at a time; the k results must be among them.
inline constexpr std::size_t few_candidates = 4096, many_candidates = 8192;
inline constexpr std::size_t sorted_candidates(std::size_t k) { return k <= 256 ? few_candidates : many_candidates; }
/// Maximum candidates that a GPU stores per query of a batch: more if it has few queries, which find many before their
/// thresholds have risen.
inline constexpr std::size_t max_candidates(std::size_t k, std::size_t queries) {
  std::size_t each = sorted_candidates(k);
  const std::size_t most = 4 * each;
  while (each < most && 2 * each * queries <= candidates_per_batch) each *= 2;
  return each;
}
/// The least where memory is short: larger batches, which copy each list less often, gain more than some queries that
/// run again lose.
inline constexpr std::size_t min_candidates(std::size_t k) {
  return k <= 64 ? few_candidates / 16 : k <= 256 ? few_candidates / 4 : many_candidates;
}

/// A candidate beyond its query's max_candidates. See RangeView.
struct SpareCandidate {
  std::uint64_t candidate = 0;
  std::uint32_t query = 0, unused = 0;
};
/// Maximum spare candidates of a batch.
inline constexpr std::size_t max_spare(std::size_t queries) {
  return spare_candidates + spare_candidates_per_query * queries;
}

/// Divides a batch's queries into sets of at most `max_queries`.
std::vector<QuerySet> cut_query_sets(const QueryBatch& batch, std::size_t max_queries = max_set_queries);

/// Divides a batch's queries into sets small enough for several items per thread block of a large GPU.
std::vector<QuerySet> cut_query_sets_for_gpu(const QueryBatch& batch);

/// Per range, 1 if any document passes; empty if `passing` is null.
std::vector<std::uint8_t> ranges_that_pass(const DocumentSet* passing);

/// See Strategy::decodes_lists. Intersections that look up few documents read only the blocks that they need.
bool range_decodes_lists(const QueryBatch& batch, const BatchWork& work, const StrategyOptions& options,
                         bool lists_stay);

/// Approximate GPU memory of a batch with k results per query, without the index and decoded lists.
std::uint64_t range_batch_bytes(const QueryBatch& batch, std::size_t k);

/// See Strategy::window_limits. Windows are decoded whole.
std::optional<WindowLimits> range_window_limits(const QueryBatch& batch, const BatchWork& work, std::uint64_t words);

}  // namespace quern::gpu
