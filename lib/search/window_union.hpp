#pragma once
#include <span>
#include <vector>

#include "quern/search/list_window.hpp"
#include "quern/search/range_union.hpp"
#include "quern/search/threshold.hpp"

namespace quern {

/// The union of a query's lists, one window of documents at a time, in any order. It skips windows that cannot contain
/// a result, and lists and documents that cannot matter in the others. The lists stay in the order of summation, from
/// the rarest term on, so that scores have the same bits as exhaustive ones: in each window it adds up the first lists,
/// until the others cannot make a result by themselves, and looks up the remaining candidates in those. It also adds up
/// a list if looking up the candidates would cost more. This is MaxScore (Turtle, Flood: Query Evaluation: Strategies
/// and Optimizations, 1995) over windows with block maxima (Ding, Suel, SIGIR 2011).
class WindowUnion {
 public:
  WindowUnion(const ScoringContext& context, std::span<const WeightedList> lists, TopK& top);

  std::span<ListWindow> lists() { return lists_; }
  const Windows& windows() const { return windows_; }
  /// Upper bound of the scores in each window; ScoringContext::nothing() for windows that are done or have no postings.
  std::span<const double> bounds() const { return bounds_; }
  /// Scores a few windows with the highest upper bounds first, so that the threshold is high from the start: the best
  /// results are likely there. Does nothing for a single list, whose stored k-th best term score has the same effect.
  void probe();
  /// Scores all other windows, in docID order.
  void finish();

 private:
  /// Adds static scores to the upper bounds, and caps them at the documents' upper bounds for any query. A window whose
  /// bound is 0 has no postings, unless all weights are 0 (`weighted` is false).
  void bound_by_documents(bool weighted);
  /// Skips windows without documents that pass the filter.
  void leave_out_windows();
  void score(std::size_t window);

  const ScoringContext& context_;
  Threshold threshold_;
  std::vector<ListWindow> lists_;
  std::vector<float> list_bounds_;  ///< in the window
  Windows windows_;
  std::vector<double> bounds_;
  RangeUnion ranges_;
};

}  // namespace quern
