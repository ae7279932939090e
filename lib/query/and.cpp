#include "quern/query/algorithm.hpp"
#include "quern/query/list_window.hpp"

namespace quern {
namespace {

/// Adds the parts of all lists to the documents of a block of the first, and keeps those that all have.
void intersect(const ScoringContext& context, std::vector<ListWindow>& lists, std::vector<ScoredDocument>& documents) {
  context.visit(0, documents);
  if (lists.size() > 1) {
    lists[1].intersect(documents);
    context.visit(1, documents);
  }
  // Only now are the first list's parts worth the trouble. The order of two numbers makes no difference to their sum; a
  // prior is in the first list's parts already.
  lists[0].intersect(documents);
  for (std::size_t i = 2; i < lists.size() && !documents.empty(); ++i) {
    lists[i].intersect(documents);
    context.visit(i, documents);
  }
}

}  // namespace

void run_and(const ScoringContext& context, std::span<const WeightedList> lists, TopK& top) {
  std::vector<ListWindow> windows;
  windows.reserve(lists.size());
  for (std::size_t i = 0; i < lists.size(); ++i) windows.emplace_back(context, lists[i], i == 0);
  std::vector<ScoredDocument> documents;
  documents.reserve(max_block_size);
  docid_t next = 0;
  while (windows[0].take_block(next, documents)) {
    if (context.may_stop(windows[0].postings_before()) && top.full() &&
        context.none_above(documents.front().docid, top.worst().score))
      return context.stop_early(next);
    next = documents.back().docid + 1;
    intersect(context, windows, documents);
    for (const ScoredDocument& document : documents) top.add(document.docid, document.score);
    if (context.visits) continue;
    // Where another list's next posting is further on, so is the next common document.
    for (const ListWindow& list : windows) next = std::max(next, list.next_docid());
    if (next == end_docid) return;
    if (top.full() && context.none_above(next, top.worst().score)) return context.stop_early(next);
  }
}

}  // namespace quern
