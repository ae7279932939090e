#include "quern/query/algorithm.hpp"
#include "quern/query/posting_cursor.hpp"

namespace quern {

void run_or(const ScoringContext& context, std::span<const WeightedList> lists, TopK& top) {
  std::vector<PostingCursor> cursors;
  cursors.reserve(lists.size());
  docid_t docid = end_docid;
  for (const WeightedList& list : lists) {
    cursors.emplace_back(*context.index, list.list);
    docid = std::min(docid, cursors.back().docid());
  }
  while (docid != end_docid) {
    const float constant = context.constants[docid];
    float score = 0;
    docid_t next = end_docid;
    for (std::size_t i = 0; i < cursors.size(); ++i) {
      PostingCursor& cursor = cursors[i];
      if (cursor.docid() == docid) {
        score += lists[i].weight * impact(cursor.freq(), constant);
        cursor.next();
      }
      next = std::min(next, cursor.docid());
    }
    top.add(docid, score);
    docid = next;
  }
}

}  // namespace quern
