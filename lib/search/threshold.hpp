#pragma once
#include <bit>

#include "quern/search/scoring.hpp"

/// The scores that documents must pass to become results.
namespace quern {

/// Increases an upper bound that is summed in double, in any order, so that it covers the float32 roundings of a score
/// of n terms: one for each product, one for each sum.
inline double with_slack(double bound, std::size_t n) { return bound * (1.0 + static_cast<double>(n) * 0x1p-23); }

/// The next float below a positive one; -1 below 0, which is below all scores.
inline float next_below(float value) {
  return value > 0 ? std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) - 1) : -1.0f;
}

/// A score that all results exceed according to the context; below all scores if it gives none.
inline float given_threshold(const ScoringContext& context) { return std::max(context.nothing(), context.above); }

/// A score that all results of a union exceed, known before any document is scored: the context's, or one just below
/// the k-th best term score of a single list, which at least k documents reach. Lists don't count if they store no such
/// term score, or under a filter, which their best documents might not pass.
inline float primed_threshold(const ScoringContext& context, std::span<const WeightedList> lists, std::size_t k) {
  const float given = given_threshold(context);
  std::size_t rank = 0;
  while (rank < stored_ranks.size() && stored_ranks[rank] < k) ++rank;
  if (!context.bounds_hold || context.passing || rank == stored_ranks.size()) return given;
  float best = 0;
  for (const WeightedList& list : lists) best = std::max(best, kth_term_score(context, list, rank));
  // A document that ties with it may be a result.
  return best > 0 ? std::max(given, next_below(best)) : given;
}

/// The score that a document must exceed to become a result.
class Threshold {
 public:
  /// `primed` is a score that all results exceed, as far as it is known in advance.
  Threshold(float primed, const TopK& top) : top_(top), primed_(primed) {}

  /// For documents from `docid` on, in whatever order they are scored: a tie loses only against a lower docID.
  float value(docid_t docid) const {
    if (!top_.full()) return primed_;
    const ScoredDocument worst = top_.worst();
    return std::max(primed_, worst.docid < docid ? worst.score : next_below(worst.score));
  }

 private:
  const TopK& top_;
  float primed_;
};

/// Decides whether a document can still become a result while some of its term scores are unknown.
class ScoreCut {
 public:
  /// Results score above `min`. Scores are sums of n numbers; `nothing` stands for the score of a document without any.
  ScoreCut(double min, std::size_t n, float nothing) : min_(min), slack_(with_slack(1.0, n)), nothing_(nothing) {}

  /// Whether a document can be a result if `bound` is an upper bound of the sum of its term scores.
  bool can_pass(double bound) const { return bound * slack_ > min_; }
  /// The partial score that a document must exceed if `rest` is an upper bound of what it still lacks: the largest s
  /// with (s + rest) * slack <= min, rounded down; or `nothing`, which all scores exceed.
  float min_score(double rest) const {
    const double score = min_ / slack_ - rest;
    return score <= 0 ? nothing_ : std::max(nothing_, next_below(static_cast<float>(score)));
  }

 private:
  double min_, slack_;
  float nothing_;
};

}  // namespace quern
