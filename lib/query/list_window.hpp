#pragma once
#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "quern/query/scoring.hpp"
#include "quern/query/threshold.hpp"
#include "quern/query/top_k.hpp"
#include "quern/query/windows.hpp"

namespace quern {

/// One list of a query, read in windows of docIDs that ascend from one restart() to the next. The term scores of a
/// block are computed together when the block is first added to a window.
class ListWindow {
 public:
  /// With `first`, the list's term scores include static scores: sums begin with them.
  ListWindow(const ScoringContext& context, const WeightedList& list, bool first = false);

  /// Postings in the blocks before the current one.
  std::uint64_t postings_before() const { return block_ * std::uint64_t{block_size_}; }
  /// Lower bound of the docIDs of the remaining postings; end_docid at the end.
  docid_t next_docid() const { return next_; }
  /// Upper bound of all term scores of the list.
  float max_term_score() const { return bounds_.max_term_score(); }
  /// Upper bound of the term scores in [begin, end), from the block rows; decodes nothing. `begin` ascends from call to
  /// call.
  float bound(docid_t begin, docid_t end);
  /// Adds to sums[w] an upper bound of the term scores in window w, for all windows.
  void add_bounds(const Windows& windows, std::span<double> sums) const;

  /// Moves to the first posting whose docID is at least `docid`, forwards or back. Keeps the current block if the
  /// posting is in it.
  void restart(docid_t docid);

  /// Adds the term scores of all postings in [begin, end) to scores[docid - begin], and moves past them. If there are
  /// static scores, they replace negative scores first.
  void add_to(docid_t begin, docid_t end, float* scores);

  /// Adds its term scores to the documents that it contains, and drops documents that cannot become results: later
  /// lists add at most `rest`. The docIDs ascend, also from call to call.
  void complete(std::vector<ScoredDocument>& documents, double rest, const ScoreCut& cut);
  /// Adds its term scores to the documents that it contains, and drops the others. The docIDs ascend, also from call to
  /// call.
  void intersect(std::vector<ScoredDocument>& documents);
  /// Decodes the next block that may contain docIDs of at least `docid`, and replaces `documents` by these documents,
  /// with scores of 0. False if there is no such block.
  bool take_block(docid_t docid, std::vector<ScoredDocument>& documents);

 private:
  bool seek(docid_t docid);
  /// Adds the term scores at places [place_, stop) of the current block.
  void add_places(docid_t begin, unsigned stop, float* scores);
  /// Moves forwards to the block whose range contains `docid`; false if there is none.
  bool move_to_block(docid_t docid);
  void enter_block();
  void leave_block();
  void compute_term_scores();
  /// Calls take(documents, found, places), some documents at a time: documents[found[i]] is at places[i] of the current
  /// block.
  template <class Take>
  void look_up(std::span<ScoredDocument> documents, Take&& take);
  /// Adds the term scores of documents within the range of the current block.
  void add_in_block(std::span<ScoredDocument> documents);
  /// Of documents within the range of the current block, moves those that it contains to the front, with its term
  /// scores added; returns their number.
  std::size_t keep_in_block(std::span<ScoredDocument> documents);
  /// Adds to documents[found[i]] the term score of the posting at places[i] of the current block.
  void add_term_scores(std::span<ScoredDocument> documents, std::span<const std::uint16_t> found,
                       std::span<const std::uint16_t> places);
  float block_bound() const {
    return reader_.num_blocks() > 1 ? scorer_.block_bound(reader_.list(), block_) : max_term_score();
  }

  BlockReader reader_;
  ListScorer scorer_;
  std::span<const float> static_scores_;
  unsigned block_size_;
  QueryStatistics* statistics_;
  ListBounds bounds_;
  docid_t next_ = 0;
  std::size_t block_ = 0;  ///< the block that contains next_
  unsigned place_ = 0;     ///< in the block, if `entered_`
  bool entered_ = false;   ///< the block is decoded
  bool has_term_scores_ = false;
  std::array<float, max_block_size + over_write_values> term_scores_;
};

}  // namespace quern
