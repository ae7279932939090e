#include "quern/query/posting_cursor.hpp"

#include <algorithm>

namespace quern {

void PostingCursor::enter(std::size_t block) {
  if (block >= reader_.num_blocks()) {
    docid_ = end_docid;
    return;
  }
  reader_.load(block);
  place_ = 0;
  freqs_read_ = 0;
  docid_ = reader_.docids()[0];
}

void PostingCursor::next_geq(docid_t target) {
  if (docid_ >= target) return;
  std::size_t block = reader_.block();
  if (reader_.last(block) < target) {
    const auto rows = reader_.list().block_last;
    if (rows.empty()) return enter(block + 1);
    const auto row = std::lower_bound(rows.begin() + static_cast<std::ptrdiff_t>(block) + 1, rows.end(), target);
    enter(static_cast<std::size_t>(row - rows.begin()));
    if (docid_ >= target) return;
  }
  // The block's last docID is `target` or more, so there is a place.
  const auto docids = reader_.docids();
  const auto found = std::lower_bound(docids.begin() + place_, docids.end(), target);
  place_ = static_cast<unsigned>(found - docids.begin());
  docid_ = *found;
}

}  // namespace quern
