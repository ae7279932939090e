#pragma once
#include <cmath>
#include <span>

#include "quern/query/algorithm.hpp"

namespace quern {

/// A bound that is summed in double, in any order, is made so much larger that it covers the float32 roundings of a
/// score of n terms: one for each product, one for each sum.
inline double with_slack(double bound, std::size_t n) { return bound * (1.0 + static_cast<double>(n) * 0x1p-23); }

/// What no result of a union can stay at or below, known before any document is met: below the k-th best part of a
/// single list, k documents and more score at least that. 0 where no list keeps such a part.
inline float primed_threshold(const ScoringContext& context, std::span<const WeightedList> lists, std::size_t k) {
  std::size_t rank = 0;
  while (rank < stored_ranks.size() && stored_ranks[rank] < k) ++rank;
  if (!context.bounds_hold || rank == stored_ranks.size()) return 0;
  float best = 0;
  for (const WeightedList& list : lists) best = std::max(best, list.weight * list.list.kth_impact[rank]);
  // A tie with it may be a result: only what is strictly below is out.
  return best > 0 ? std::nextafter(best, 0.0f) : 0;
}

/// The score that a document met from now on must pass: documents are met in docID order, so a tie loses.
class Threshold {
 public:
  Threshold(const ScoringContext& context, std::span<const WeightedList> lists, const TopK& top)
      : top_(top), primed_(primed_threshold(context, lists, top.k())) {}

  float value() const { return top_.full() ? std::max(primed_, top_.threshold()) : primed_; }

 private:
  const TopK& top_;
  float primed_;
};

}  // namespace quern
