#pragma once
#include <span>

#include "quern/search/candidates.hpp"
#include "quern/search/list_blocks.hpp"
#include "quern/search/scoring.hpp"
#include "quern/search/threshold.hpp"
#include "quern/search/windows.hpp"

namespace quern {

/// One list of a query, read in windows of docIDs that ascend from one restart() to the next. The term scores of a
/// block are computed together when the block is first added to a window.
class ListWindow {
 public:
  /// With `by_block` false, complete() knows no upper bounds but that of the whole list.
  ListWindow(const ScoringContext& context, const WeightedList& list, bool by_block = true);

  /// Of the whole list.
  std::uint64_t postings() const { return reader().list().df; }
  /// Lower bound of the docIDs of the remaining postings; end_docid at the end.
  docid_t next_docid() const { return blocks_.next_docid(); }
  /// Where a range of documents from `begin` on ends that has so many postings at most; `begin` if that is unknown.
  docid_t end_of_postings(docid_t begin, std::size_t postings) const {
    return blocks_.end_of_postings(begin, postings);
  }
  /// Upper bound of all term scores of the list.
  float max_term_score() const { return bounds_.max_term_score(); }
  /// Upper bound of the term scores in [begin, end), from the block rows; decodes nothing. `begin` ascends from call to
  /// call.
  float bound(docid_t begin, docid_t end) { return next_docid() >= end ? 0 : bounds_.in(begin, end); }
  /// Adds to sums[w] an upper bound of the term scores in window w, for all windows.
  void add_bounds(const Windows& windows, std::span<double> sums) const;

  /// Moves to the first posting whose docID is at least `docid`, forwards or back. Keeps the current block if the
  /// posting is in it.
  void restart(docid_t docid);

  /// Adds the term scores of all postings in [begin, end) to scores[docid - begin], and moves past them. If there are
  /// static scores, they replace negative scores first.
  void add_to(docid_t begin, docid_t end, float* scores);
  /// Adds the term scores of those of the documents that it contains. The docIDs ascend, also from call to call. Not
  /// for scores that begin with static scores.
  void add_to(Candidates& documents);
  /// Replaces `taken` by the documents in [begin, end) with term scores above `min`, and moves past them. Not for
  /// scores that begin with static scores.
  void take_above(docid_t begin, docid_t end, float min, Candidates& taken);

  /// Adds its term scores to the documents that it contains, and drops documents that cannot become results: later
  /// lists add at most `rest`. The docIDs ascend, also from call to call.
  void complete(Candidates& documents, double rest, const ScoreCut& cut);

 private:
  /// Calls take(docids, term_scores, n) for the postings in [begin, end), some at a time, and moves past them.
  template <class Take>
  void walk(docid_t begin, docid_t end, Take&& take);
  bool move_to_block(docid_t docid);
  bool seek(docid_t docid);
  void enter_block();
  void compute_term_scores();
  /// Adds the term scores of documents within the range of the current block.
  void add_in_block(const docid_t* docids, std::size_t count, float* scores);
  float block_bound() const {
    return by_block_ && reader().num_blocks() > 1 ? scorer_.block_bound(reader().list(), blocks_.block())
                                                  : max_term_score();
  }
  const BlockReader& reader() const { return blocks_.reader(); }

  ListBlocks blocks_;
  ListScorer scorer_;
  const QueryKernels& kernels_;
  std::span<const float> static_scores_;
  QueryStatistics* statistics_;
  ListBounds bounds_;
  bool by_block_;
  unsigned place_ = 0;  ///< in the current block, if `entered_`
  bool entered_ = false;
  bool has_term_scores_ = false;
  ScratchArray<float> term_scores_;
};

}  // namespace quern
