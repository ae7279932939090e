#pragma once
#include <span>

#include "quern/core/bm25.hpp"
#include "quern/query/algorithm.hpp"
#include "quern/query/block_reader.hpp"

namespace quern {

/// What the postings of one list add to scores, and bounds of it: the term's weight times the impact, or, where the
/// query asks for quantized scores, the term's count in the query times the impact's integer. Integers are exact in
/// float32: the engine takes no query whose sums could pass 2^24.
class ListScorer {
 public:
  /// With `priors` a part includes its document's prior: for the list whose parts sums begin with.
  ListScorer(const ScoringContext& context, const WeightedList& list, std::span<const float> static_scores = {})
      : static_scores_(static_scores),
        quantizer_(context.quantizer),
        constants_(context.constants),
        weight_(list.weight),
        unit_weight_(quantizer_ ? context.index->quantized_weight(list.list) : 0),
        bounds_hold_(context.bounds_hold) {}

  /// The block rows and list bounds are of this query's k1 and b.
  bool bounds_hold() const { return bounds_hold_; }
  /// The part of a posting with this impact, without a prior; a greater impact never gives a smaller part.
  float term_score_of(float impact) const {
    if (!quantizer_) return weight_ * impact;
    return weight_ * static_cast<float>((*quantizer_)(unit_weight_ * impact));
  }
  /// Bounds the parts of a block of a list with block rows.
  float block_bound(const PostingList& list, std::size_t block) const {
    return term_score_of(bounds_hold_ ? dequantize_up(list.block_max[block]) : 1.0f);
  }
  /// Bounds the parts of the whole list. A short list is held decoded and kept without bounds, so its parts tell.
  float list_bound(BlockReader& reader) const;

  /// Writes the parts of all postings of the block at hand. `out` has room for over_write_values more.
  void term_scores(BlockReader& reader, float* out) const;
  /// The part of one posting of the block at hand. Of a block's frequencies a few are read one by one; where more are
  /// wanted, all are decoded.
  float term_score(BlockReader& reader, unsigned place) const;

 private:
  std::span<const float> static_scores_;
  const ImpactQuantizer* quantizer_;
  std::span<const float> constants_;
  float weight_, unit_weight_;
  bool bounds_hold_;
};

/// The k-th best part that the list keeps at stored_ranks[rank], rounded down; 0 where it keeps none.
inline float kth_term_score(const ScoringContext& context, const WeightedList& list, std::size_t rank) {
  const float impact = list.list.kth_impact[rank];
  return impact > 0 ? ListScorer(context, list).term_score_of(impact) : 0;
}

}  // namespace quern
