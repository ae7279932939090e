#pragma once
#include "quern/search/list_window.hpp"
#include "quern/search/scoring.hpp"

namespace quern {

/// The first document in [begin, end) from which on no document scores more than `score`; `end` if there is none.
docid_t end_of_results(const ScoringContext& context, docid_t begin, docid_t end, float score);

/// Upper bounds of the addends of scores in a range.
struct RangeBounds {
  std::span<const float> term_scores;  ///< of each of the query's lists
  float static_score = 0;
};

/// Scores together those documents of a range that the lists' upper bounds there admit: WAND's step from pivot to
/// pivot, with one threshold for the whole range. The ranges ascend from one restart() of the lists to the next.
class RangeUnion {
 public:
  /// `lists` are in the order of summation. Unless postings are few, a range has at most `windows.size()` documents,
  /// and the first one `first_size`.
  RangeUnion(const ScoringContext& context, std::span<ListWindow> lists, const Windows& windows, docid_t first_size,
             TopK& top);

  /// Adds the documents from `begin` on that pass `cut`, the threshold there, to the results. May stop before `end`;
  /// returns the first document that it has not scored.
  docid_t score(docid_t begin, docid_t end, const RangeBounds& bounds, const ScoreCut& cut);

 private:
  /// Finds the lists that may have postings before `end`; returns whether documents there can pass `cut`.
  bool find_lists(docid_t end, const RangeBounds& bounds, const ScoreCut& cut);
  /// The lists to add up: the essential ones, since each document that can pass is in at least one of them, and those
  /// that are cheaper to add up than to probe for candidates.
  std::span<ListWindow* const> summed_lists() const { return std::span(in_range_).subspan(first_, summed_ - first_); }
  /// Adds the term scores of the other lists to the candidates, and drops those that cannot be results.
  void complete(docid_t size, const ScoreCut& cut);
  /// Whether adding up all postings of the list at in_range_[i] in a range of `size` documents costs less than looking
  /// up the candidates.
  bool adds_up(std::size_t i, docid_t size, std::size_t candidates) const;
  /// The end of a range in which summed_lists() have few postings.
  docid_t end_of_few(docid_t begin) const;
  /// Takes the documents whose term scores in summed_lists() sum up to more than `min`, with an array of the range's
  /// documents.
  void add_up(docid_t begin, docid_t end, float min);
  /// Does the work of add_up() by merging lists with few postings.
  void merge(docid_t begin, docid_t end, float min);

  /// Maximum number of postings that are merged, where an array of all documents of the range would cost more.
  static constexpr std::size_t few_postings = 1024;
  /// Documents and sums of the lists merged so far.
  struct Merged {
    std::size_t size;
    std::array<docid_t, few_postings + kernel_slack> docids;
    std::array<float, few_postings + kernel_slack> scores;
  };
  /// Does the work of add_up() by looking up the documents that pass the filter.
  void look_up_passing(docid_t begin, docid_t end, float min);
  /// Whether look_up_passing() costs less than adding up all postings.
  bool few_pass(docid_t begin, docid_t end) const;
  /// Writes the documents of `merged` and those of list_ to `both`.
  void merge_list(Merged& merged, Merged& both);

  const ScoringContext& context_;
  std::span<ListWindow> lists_;
  TopK& top_;
  docid_t size_, max_size_;
  std::vector<ListWindow*> in_range_;  ///< from first_ on, the lists that may have postings in the range
  std::vector<double> rests_;          ///< upper bounds of the sums of in_range_[i] and those after it
  std::size_t first_ = 0, essential_ = 0, summed_ = 0;  ///< in_range_[first_] to [summed_ - 1] are summed_lists()
  std::size_t added_ = 0;                               ///< number of leading lists_ that the next range adds up
  std::vector<double> densities_;                       ///< of each of lists_: postings per document
  WindowScores scores_;
  Candidates candidates_;
  Candidates list_;  ///< of merge(), like the next
  std::array<Merged, 2> merged_;
};

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
  /// Scores windows by falling upper bound as the context's budget allows, see WindowSchedule; without probe().
  void finish_within_budget();

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
