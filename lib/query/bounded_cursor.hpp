#pragma once
#include <array>

#include "quern/query/list_scorer.hpp"
#include "quern/query/posting_cursor.hpp"

namespace quern {

/// A cursor that knows what its postings add to scores, and a bound of it. For algorithms that go from document to
/// document.
class BoundedCursor {
 public:
  BoundedCursor(const ScoringContext& context, const WeightedList& list)
      : cursor_(*context.index, list.list, context.statistics),
        scorer_(context, list),
        statistics_(context.statistics),
        max_term_score_(scorer_.list_bound(cursor_.reader())),
        scored_block_(cursor_.reader().num_blocks()) {}

  docid_t docid() const { return cursor_.docid(); }
  void next() { cursor_.next(); }
  void next_geq(docid_t target) { cursor_.next_geq(target); }
  /// The part of the posting at hand.
  float term_score() {
    if (scored_block_ == cursor_.reader().block()) return term_scores_[cursor_.place()];
    ++statistics_->postings_scored;
    return scorer_.term_score(cursor_.reader(), cursor_.place());
  }
  /// Passes over postings of the block at hand up to docID `last` whose parts are not above `least`. False where it
  /// finds none that is: it then stands at the last of them, or behind `last`. Computes all parts of the block at once.
  bool find_part_above(float least, docid_t last);
  /// Bounds all parts.
  float max_term_score() const { return max_term_score_; }
  const PostingList& list() { return cursor_.reader().list(); }
  const ListScorer& scorer() const { return scorer_; }

 private:
  PostingCursor cursor_;
  ListScorer scorer_;
  QueryStatistics* statistics_;
  float max_term_score_;
  std::size_t scored_block_;  ///< the block whose parts are held
  std::array<float, max_block_size + over_write_values> term_scores_;
};

}  // namespace quern
