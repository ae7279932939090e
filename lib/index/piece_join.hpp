#pragma once
#include "quern/index/list_encoder.hpp"

namespace quern {

/// Adds up what the encoded pieces of a list say of the whole.
class PieceJoin {
 public:
  /// The pieces of a list in their order. True for the last one.
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
  /// The list whose last piece was added. Its words and rows are those of all pieces, which are gone.
  const EncodedBatch::Item& list() const { return list_; }

 private:
  EncodedBatch::Item list_;
  TopImpacts top_;
};

}  // namespace quern
