#pragma once
#include <algorithm>
#include <span>

#include "quern/core/bm25.hpp"
#include "quern/query/algorithm.hpp"
#include "quern/query/posting_cursor.hpp"

namespace quern {

/// A cursor that knows its term's weight, and bounds on its parts: of the whole list, and of the block that a docID
/// would lie in. For algorithms that go from document to document.
class BoundedCursor {
 public:
  BoundedCursor(const ScoringContext& context, const WeightedList& list)
      : cursor_(*context.index, list.list, context.statistics),
        statistics_(context.statistics),
        constants_(context.constants),
        list_(list.list),
        weight_(list.weight),
        bounds_hold_(context.bounds_hold) {
    max_part_ = weight_ * (list_.is_short() || !bounds_hold_ ? 1.0f : list_.max_impact);
  }

  docid_t docid() const { return cursor_.docid(); }
  void next() { cursor_.next(); }
  void next_geq(docid_t target) { cursor_.next_geq(target); }
  /// Weight times impact of the posting at hand.
  float part() {
    ++statistics_->postings_scored;
    return weight_ * impact(cursor_.freq(), constants_[cursor_.docid()]);
  }
  float max_part() const { return max_part_; }

  /// Finds the block that `docid` would lie in, without decoding it; docIDs rise from call to call.
  void seek_block(docid_t docid) {
    const auto last = list_.block_last;
    if (block_ < last.size() && last[block_] < docid)
      block_ = static_cast<std::size_t>(
          std::lower_bound(last.begin() + static_cast<std::ptrdiff_t>(block_) + 1, last.end(), docid) - last.begin());
  }
  /// Bounds the parts of that block; 0 behind the list's last.
  float block_bound() const {
    if (list_.block_last.empty() || !bounds_hold_) return max_part_;
    return block_ < list_.block_last.size() ? weight_ * dequantize_up(list_.block_max[block_]) : 0;
  }
  /// That block's greatest docID: up to it the bound holds.
  docid_t block_last() const { return block_ < list_.block_last.size() ? list_.block_last[block_] : end_docid - 1; }

 private:
  PostingCursor cursor_;
  QueryStatistics* statistics_;
  std::span<const float> constants_;
  PostingList list_;
  float weight_;
  float max_part_ = 0;
  bool bounds_hold_;
  std::size_t block_ = 0;
};

}  // namespace quern
