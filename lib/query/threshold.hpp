#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>

#include "quern/query/list_scorer.hpp"

namespace quern {

/// A bound that is summed in double, in any order, is made so much larger that it covers the float32 roundings of a
/// score of n terms: one for each product, one for each sum.
inline double with_slack(double bound, std::size_t n) { return bound * (1.0 + static_cast<double>(n) * 0x1p-23); }

/// The greatest float below a positive one; -1 below 0, which is less than all scores.
inline float next_below(float value) {
  return value > 0 ? std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) - 1) : -1.0f;
}

/// What no result of a union can stay at or below, known before any document is met: below the k-th best part of a
/// single list, k documents and more score at least that. Where no list keeps such a part: less than all scores.
inline float primed_threshold(const ScoringContext& context, std::span<const WeightedList> lists, std::size_t k) {
  std::size_t rank = 0;
  while (rank < stored_ranks.size() && stored_ranks[rank] < k) ++rank;
  if (!context.bounds_hold || rank == stored_ranks.size()) return context.nothing();
  float best = 0;
  for (const WeightedList& list : lists) best = std::max(best, kth_term_score(context, list, rank));
  // A tie with it may be a result: only what is strictly below is out.
  return best > 0 ? next_below(best) : context.nothing();
}

/// The score that a document must pass to become a result.
class Threshold {
 public:
  /// `primed` is what no result can stay at or below, as far as is known before.
  Threshold(float primed, const TopK& top) : top_(top), primed_(primed) {}

  /// For documents from `docid` on, in whatever order they are met: a tie loses against a lower docID alone.
  float value(docid_t docid) const {
    if (!top_.full()) return primed_;
    const ScoredDocument worst = top_.worst();
    return std::max(primed_, worst.docid < docid ? worst.score : next_below(worst.score));
  }

 private:
  const TopK& top_;
  float primed_;
};

/// What the score of a document must pass to become a result, while parts of it are still missing.
class ScoreCut {
 public:
  /// For scores that are sums of n numbers; a document without any counts as having `nothing`. No document passes
  /// `least` itself.
  ScoreCut(double least, std::size_t n, float nothing) : min_(least), slack_(with_slack(1.0, n)), nothing_(nothing) {}

  /// A document whose parts are at most `bound` together may pass.
  bool can_pass(double bound) const { return bound * slack_ > min_; }
  /// A score s with (s + rest) * slack <= least is passed over: the greatest such s, rounded down; or `nothing`, which
  /// all scores are above.
  float min_score(double rest) const {
    const double score = min_ / slack_ - rest;
    return score <= 0 ? nothing_ : std::max(nothing_, next_below(static_cast<float>(score)));
  }

 private:
  double min_, slack_;
  float nothing_;
};

}  // namespace quern
