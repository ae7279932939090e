#include "quern/gpu/range/intersection_items.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

#include "quern/gpu/device/entry_place.hpp"
#include "quern/gpu/device/tuning.hpp"

namespace quern::gpu {
namespace {

/// Items of a batch are counted in 32 bits, beside warps that look for more.
constexpr std::uint64_t max_items = std::uint64_t{1} << 30;

/// Postings in each query's shortest list.
std::vector<std::uint32_t> shortest_lengths(const QueryBatch& batch) {
  std::vector<std::uint32_t> lengths;
  lengths.reserve(batch.queries.size());
  for (const BatchQuery& query : batch.queries)
    lengths.push_back(query.terms == 0 ? 0 : batch.lists[batch.terms[query.first_term].list].df);
  return lengths;
}

std::uint64_t sum_of(const std::vector<std::uint32_t>& lengths) {
  return std::accumulate(lengths.begin(), lengths.end(), std::uint64_t{0});
}

/// How many documents of a query's shortest list an item has, so that there are enough items for a large GPU.
std::uint64_t documents_for_gpu(const std::vector<std::uint32_t>& lengths) {
  return std::clamp<std::uint64_t>(sum_of(lengths) / items_per_intersection, min_item_documents, max_item_documents);
}

/// The class of queries whose shortest list has so many postings in all ranges: 0 is that of the shortest lists, and in
/// each class lists are twice as dense as in the one before.
unsigned class_of(std::uint64_t postings, std::uint64_t ranges, std::uint64_t documents) {
  unsigned number = 0;
  // Postings of an item, times `ranges`; lists have less than 2^32 postings.
  for (std::uint64_t of_item = postings << most_spread; of_item > documents * ranges && number + 1 < max_item_classes;
       of_item /= 2)
    ++number;
  return number;
}

}  // namespace

IntersectionItems::IntersectionItems(const QueryBatch& batch)
    : IntersectionItems(batch, shortest_lengths(batch), std::nullopt) {}

IntersectionItems::IntersectionItems(const QueryBatch& batch, std::uint64_t documents)
    : IntersectionItems(batch, shortest_lengths(batch), documents) {}

IntersectionItems::IntersectionItems(const QueryBatch& batch, const std::vector<std::uint32_t>& lengths,
                                     std::optional<std::uint64_t> documents) {
  const std::uint32_t ranges = std::max(1u, num_ranges(batch.engine().index().num_documents()));
  // No more items than can be counted.
  const std::uint64_t least = std::max<std::uint64_t>(1, sum_of(lengths) / (max_items / 8));
  const std::uint64_t wanted = std::max(least, documents ? *documents : documents_for_gpu(lengths));
  std::array<std::vector<std::uint32_t>, max_item_classes> queries;
  for (std::uint32_t i = 0; i < lengths.size(); ++i) queries[class_of(lengths[i], ranges, wanted)].push_back(i);
  queries_.reserve(lengths.size());
  for (unsigned number = 0; number < max_item_classes; ++number) {
    if (queries[number].empty()) continue;
    ItemClass& added = classes_.emplace_back();
    added.first_query = static_cast<std::uint32_t>(queries_.size());
    added.queries = static_cast<std::uint32_t>(queries[number].size());
    added.spread = static_cast<std::uint8_t>(number < most_spread ? most_spread - number : 0);
    added.cut = static_cast<std::uint8_t>(number > most_spread ? number - most_spread : 0);
    queries_.insert(queries_.end(), queries[number].begin(), queries[number].end());
  }
}

ItemsView IntersectionItems::view(std::uint32_t ranges) const {
  ItemsView view;
  if (classes_.empty() || ranges == 0) return view;
  // No item spreads over more ranges than there are, but for those that the last stretch lacks.
  view.stretch = std::min<std::uint32_t>(classes_.front().spread, std::bit_width(ranges - 1));
  for (std::size_t i = 0; i < classes_.size(); ++i) {
    ItemClass& of = view.classes[i] = classes_[i];
    of.spread = std::min(of.spread, static_cast<std::uint8_t>(view.stretch));
    view.per_stretch += of.queries << of.cut << (view.stretch - of.spread);
    of.end = view.per_stretch;
  }
  view.all =
      view.per_stretch * static_cast<std::uint32_t>((std::uint64_t{ranges} + (1u << view.stretch) - 1) >> view.stretch);
  return view;
}

}  // namespace quern::gpu
