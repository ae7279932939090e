#include "quern/query/bounded_cursor.hpp"

#include "quern/query/row_search.hpp"

namespace quern {

bool BoundedCursor::find_part_above(float least, docid_t last) {
  BlockReader& reader = cursor_.reader();
  if (scored_block_ != reader.block()) {
    scorer_.term_scores(reader, term_scores_.data());
    scored_block_ = reader.block();
    statistics_->postings_scored += reader.size();
  }
  const auto docids = reader.docids();
  const auto stop = static_cast<unsigned>(search_block(docids, cursor_.place(), last + 1));
  for (unsigned place = cursor_.place(); place < stop; ++place) {
    if (term_scores_[place] > least) {
      cursor_.move_to(place);
      return true;
    }
  }
  cursor_.move_to(std::min(stop, reader.size() - 1));
  return false;
}

}  // namespace quern
