#include "quern/query/posting_cursor.hpp"

#include "quern/query/row_search.hpp"

namespace quern {

void PostingCursor::enter(std::size_t block) {
  if (block >= reader_.num_blocks()) {
    docid_ = end_docid;
    return;
  }
  reader_.load(block);
  place_ = 0;
  docid_ = reader_.docids()[0];
}

void PostingCursor::next_geq(docid_t target) {
  if (docid_ >= target) return;
  std::size_t block = reader_.block();
  if (reader_.last(block) < target) {
    const auto rows = reader_.list().block_last;
    if (rows.empty()) return enter(block + 1);
    enter(search_rows(rows, block + 1, target));
    if (docid_ >= target) return;
  }
  // The block's last docID is `target` or more, so there is a place.
  place_ = static_cast<unsigned>(search_block(reader_.docids(), place_, target));
  docid_ = reader_.docids()[place_];
}

}  // namespace quern
