#include <algorithm>

#include "quern/query/algorithm.hpp"
#include "quern/query/list_window.hpp"
#include "quern/query/window_scores.hpp"

namespace quern {
namespace {

/// Nothing is pruned, so windows only need to stay in the first cache.
constexpr docid_t min_size = 4096;

}  // namespace

void run_or(const ScoringContext& context, std::span<const WeightedList> lists, TopK& top) {
  std::vector<ListWindow> windows;
  windows.reserve(lists.size());
  for (const WeightedList& list : lists) windows.emplace_back(context, list);
  const auto next_docid = [&] {
    docid_t next = end_docid;
    for (const ListWindow& list : windows) next = std::min(next, list.next_docid());
    return next;
  };
  const Windows cut(context.index->num_documents(), min_size);
  WindowScores scores(cut, context.nothing());
  std::vector<ScoredDocument> found;
  found.reserve(cut.size());
  for (docid_t next = next_docid(); next != end_docid; next = next_docid()) {
    if (top.full() && context.none_above(next, top.worst().score)) return context.stop_early(next);
    const docid_t begin = cut.begin(cut.of(next)), end = cut.end(cut.of(next));
    for (ListWindow& list : windows) list.add_to(begin, end, scores.data());
    // Later documents lose ties, so what does not pass the threshold needs no place in the heap.
    scores.take_above(top.full() ? top.worst().score : context.nothing(), begin, end, found);
    for (const ScoredDocument& document : found) top.add(document.docid, document.score);
  }
}

}  // namespace quern
