#pragma once
#include "quern/index/list_encoder.hpp"

namespace quern {

/// Combines the results of a list's encoded pieces.
class PieceJoin {
 public:
  /// Adds a list's pieces in order; true after the last one.
  bool add(const EncodedBatch& batch) {
    const EncodedBatch::Item& piece = batch.items.front();
    if (batch.piece->first == 0) {
      list_ = {};
      list_.term = piece.term;
      list_.df = piece.df;
      top_.clear();
    }
    list_.cf += piece.cf;
    list_.words += piece.words;
    list_.rows += piece.rows;
    top_.add(batch.piece->top);
    if (batch.piece->first + batch.postings < piece.df) return false;
    list_.kth_impact = top_.at_ranks();
    return true;
  }
  /// The list of the last piece added. Its words and rows count those of all pieces, which are no longer available.
  const EncodedBatch::Item& list() const { return list_; }

 private:
  EncodedBatch::Item list_;
  TopImpacts top_;
};

}  // namespace quern
