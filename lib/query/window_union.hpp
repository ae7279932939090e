#pragma once
#include <span>
#include <vector>

#include "quern/query/list_window.hpp"
#include "quern/query/window_scores.hpp"

namespace quern {

/// The union of a query's lists, window of documents by window, in any order: a window that can't hold a result is
/// passed over, and in the others lists and documents that can't matter. The lists stay in the order of summation, from
/// the rarest term on, so that scores come out as exact as the exhaustive ones: in each window the first lists are
/// added up, until what is left can't make a result by itself; the others are asked only about documents that can still
/// become one. That is MaxScore (Turtle, Flood: Query Evaluation: Strategies and Optimizations, 1995) over windows with
/// block maxima (Ding, Suel, SIGIR 2011).
class WindowUnion {
 public:
  WindowUnion(const ScoringContext& context, std::span<const WeightedList> lists, TopK& top);

  const Windows& windows() const { return windows_; }
  /// What a document may score in each window; nothing where it was looked at or has none of the lists' documents.
  std::span<const double> bounds() const { return bounds_; }
  /// Looks at some windows with the greatest bounds, so that the threshold is high from the start: best results lie
  /// there more often than elsewhere. For one list the stored k-th best part does as much.
  void probe();
  /// Looks at all other windows, in docID order.
  void finish();

 private:
  /// Takes priors into the bounds, and what documents score at most in any query. Windows without postings have no
  /// bound, but where no list has a weight none shows that it has postings.
  void bound_by_documents(bool weighted);
  void look_at(std::size_t window);

  const ScoringContext& context_;
  TopK& top_;
  Threshold threshold_;
  std::vector<ListWindow> lists_;
  std::vector<double> rests_;
  Windows windows_;
  std::vector<double> bounds_;
  WindowScores scores_;
  std::vector<ScoredDocument> candidates_;
};

}  // namespace quern
