#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "quern/gpu/device/tuning.hpp"
#include "quern/gpu/store/document_windows.hpp"
#include "quern/gpu/worker/query_batch.hpp"
#include "quern/gpu/worker/strategy.hpp"

/// How an intersection from entries is cut into items, which warps take; computed on the host.
namespace quern::gpu {

/// Queries whose shortest lists are about as dense: an item is a part of a range, or several neighbouring ranges.
struct ItemClass {
  std::uint32_t first_query = 0, queries = 0;  ///< in ItemsView::queries
  std::uint32_t end = 0;                       ///< items of a stretch that are of this class or one before it
  std::uint8_t cut = 0;                        ///< 2^cut items are a range
  std::uint8_t spread = 0;                     ///< an item is 2^spread ranges
};

/// An item has at most 2^max_spread ranges, one for each lane of a warp, and a range at most 2^max_cut items.
inline constexpr unsigned max_spread = 5, max_cut = 7;
/// One for each degree of density, so that classes have items of one size.
inline constexpr unsigned max_item_classes = max_spread + max_cut + 1;

/// The items of a batch, or of a window of documents. They are in the order of documents, so that thresholds rise
/// before a query's later documents are looked up: one *stretch* of ranges after another, and of each stretch one class
/// after another.
struct ItemsView {
  const std::uint32_t* queries = nullptr;  ///< the batch's, by class
  ItemClass classes[max_item_classes] = {};
  std::uint32_t stretch = 0;               ///< 2^stretch ranges
  std::uint32_t per_stretch = 0, all = 0;  ///< items
};

/// What a warp takes of a query.
struct IntersectionItem {
  std::uint32_t query = 0;
  std::uint32_t first_range = 0, ranges = 0;  ///< none: the last stretch has fewer ranges than others
  std::uint32_t part = 0, parts = 1;          ///< of the ranges' documents
};

/// Item `work` of a batch or window of `ranges` ranges; it must be below ItemsView::all.
constexpr IntersectionItem item_of(const ItemsView& items, std::uint32_t ranges, std::uint32_t work) {
  const std::uint32_t stretch = work / items.per_stretch;
  std::uint32_t own = work % items.per_stretch, number = 0;
  while (own >= items.classes[number].end) ++number;
  const ItemClass& item_class = items.classes[number];
  if (number > 0) own -= items.classes[number - 1].end;
  // One place after another, of all queries.
  const std::uint32_t place = own / item_class.queries, parts = 1u << item_class.cut, most = 1u << item_class.spread;
  IntersectionItem item;
  item.query = items.queries[item_class.first_query + own % item_class.queries];
  item.part = place % parts;
  item.parts = parts;
  item.first_range = (stretch << items.stretch) + (place / parts << item_class.spread);
  if (item.first_range >= ranges) return item;
  item.ranges = ranges - item.first_range < most ? ranges - item.first_range : most;
  return item;
}

/// The queries of a batch by class.
class IntersectionItems {
 public:
  IntersectionItems() = default;
  /// Items have about `documents` documents of their query's shortest list.
  IntersectionItems(const QueryBatch& batch, std::uint64_t documents);
  /// Items that are enough for a large GPU, if there are as many documents, and not so many that each is short.
  explicit IntersectionItems(const QueryBatch& batch);

  /// The queries, by class.
  const std::vector<std::uint32_t>& queries() const { return queries_; }
  /// The items of `ranges` ranges; without ItemsView::queries.
  ItemsView view(std::uint32_t ranges) const;

 private:
  IntersectionItems(const QueryBatch& batch, const std::vector<std::uint32_t>& lengths,
                    std::optional<std::uint64_t> documents);

  std::vector<std::uint32_t> queries_;
  std::vector<ItemClass> classes_;  ///< none is empty; `end` is not set
};

// How the strategy `range` divides a batch; computed on the host.

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
