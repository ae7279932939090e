#include "quern/query/algorithm.hpp"
#include "quern/query/bounded_cursor.hpp"

namespace quern {

void run_or(const ScoringContext& context, std::span<const WeightedList> lists, TopK& top) {
  std::vector<BoundedCursor> cursors;
  cursors.reserve(lists.size());
  docid_t docid = end_docid;
  for (const WeightedList& list : lists) {
    cursors.emplace_back(context, list);
    docid = std::min(docid, cursors.back().docid());
  }
  while (docid != end_docid) {
    float score = 0;
    docid_t next = end_docid;
    for (BoundedCursor& cursor : cursors) {
      if (cursor.docid() == docid) {
        score += cursor.part();
        cursor.next();
      }
      next = std::min(next, cursor.docid());
    }
    top.add(docid, score);
    docid = next;
  }
}

}  // namespace quern
