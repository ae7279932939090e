#pragma once
#include <algorithm>

#include "quern/query/list_scorer.hpp"
#include "quern/query/row_search.hpp"

namespace quern {

/// Bounds of one list's parts in ranges of documents that rise, from its block rows: nothing is decoded.
class ListBounds {
 public:
  /// `max_term_score` bounds the whole list. Keeps a view of the list's rows.
  ListBounds(const PostingList& list, const ListScorer& scorer, float max_term_score)
      : last_(list.block_last), max_(list.block_max), scorer_(scorer), max_term_score_(max_term_score) {}

  float max_term_score() const { return max_term_score_; }
  /// Ranges from `docid` on follow, whatever was asked before.
  void restart(docid_t docid) { block_ = search_block(last_, 0, docid); }
  /// Bounds the parts in [begin, end); `begin` is not below that of the call before.
  float in(docid_t begin, docid_t end) {
    if (last_.empty() || !scorer_.bounds_hold()) return max_term_score_;
    while (block_ < last_.size() && last_[block_] < begin) ++block_;
    if (block_ == last_.size() || (block_ > 0 && last_[block_ - 1] + 1 >= end)) return 0;
    std::uint16_t greatest = max_[block_];
    for (std::size_t block = block_; block + 1 < last_.size() && last_[block] + 1 < end; ++block)
      greatest = std::max(greatest, max_[block + 1]);
    return scorer_.term_score_of(dequantize_up(greatest));
  }

 private:
  std::span<const docid_t> last_;
  std::span<const std::uint16_t> max_;
  ListScorer scorer_;
  float max_term_score_;
  std::size_t block_ = 0;  ///< the first that reaches the last range
};

}  // namespace quern
