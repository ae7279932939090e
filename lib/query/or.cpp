#include <algorithm>

#include "quern/query/algorithm.hpp"
#include "quern/query/list_window.hpp"
#include "quern/query/window_scores.hpp"

namespace quern {

void run_or(const ScoringContext& context, std::span<const WeightedList> lists, TopK& top) {
  std::vector<ListWindow> windows;
  windows.reserve(lists.size());
  for (const WeightedList& list : lists) windows.emplace_back(context, list);
  const auto next_docid = [&] {
    docid_t next = end_docid;
    for (const ListWindow& list : windows) next = std::min(next, list.next_docid());
    return next;
  };
  WindowScores scores;
  std::vector<ScoredDocument> found;
  found.reserve(window_documents);
  for (docid_t next = next_docid(); next != end_docid; next = next_docid()) {
    const docid_t begin = next / window_documents * window_documents;
    const docid_t end = window_end(context, begin);
    for (ListWindow& list : windows) list.add_to(begin, end, scores.data());
    // Later documents lose ties, so what does not pass the threshold needs no place in the heap.
    scores.take_above(top.full() ? top.threshold() : 0, begin, end, found);
    for (const ScoredDocument& document : found) top.add(document.docid, document.score);
  }
}

}  // namespace quern
