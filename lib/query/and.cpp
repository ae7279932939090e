#include "quern/query/algorithm.hpp"
#include "quern/query/bounded_cursor.hpp"

namespace quern {
namespace {

/// The first document from `docid` on that all cursors stand at; they are moved there.
docid_t next_common(std::vector<BoundedCursor>& cursors, docid_t docid) {
  for (std::size_t i = 0; i < cursors.size();) {
    cursors[i].next_geq(docid);
    if (cursors[i].docid() == docid) {
      ++i;
    } else {
      docid = cursors[i].docid();
      if (docid == end_docid) return end_docid;
      i = 0;
    }
  }
  return docid;
}

}  // namespace

void run_and(const ScoringContext& context, std::span<const WeightedList> lists, TopK& top) {
  std::vector<BoundedCursor> cursors;
  cursors.reserve(lists.size());
  for (const WeightedList& list : lists) cursors.emplace_back(context, list);
  for (docid_t docid = next_common(cursors, 0); docid != end_docid; docid = next_common(cursors, docid + 1)) {
    float score = 0;
    for (BoundedCursor& cursor : cursors) score += cursor.part();
    top.add(docid, score);
  }
}

}  // namespace quern
