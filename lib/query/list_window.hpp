#pragma once
#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "quern/query/list_bounds.hpp"
#include "quern/query/threshold.hpp"
#include "quern/query/top_k.hpp"
#include "quern/query/windows.hpp"

namespace quern {

/// One list of a query, walked in windows of docIDs that rise from one restart() to the next. A block's parts (weight
/// times impact) are computed together when the block is first added to a window.
class ListWindow {
 public:
  /// With `first` the list's parts include their documents' priors: sums begin with them.
  ListWindow(const ScoringContext& context, const WeightedList& list, bool first = false);

  /// Postings in the blocks before the one at hand.
  std::uint64_t postings_before() const { return block_ * std::uint64_t{block_size_}; }
  /// No posting that is not passed yet has a lower docID; end_docid at the end.
  docid_t next_docid() const { return next_; }
  /// Bounds all parts of the list.
  float max_term_score() const { return bounds_.max_term_score(); }
  /// Bounds the parts in [begin, end), from the block rows; `begin` rises from call to call. Nothing is decoded.
  float bound(docid_t begin, docid_t end);
  /// Adds to sums[w], for each of the windows, what bound() would give for it.
  void add_bounds(const Windows& windows, std::span<double> sums) const;

  /// Goes to the first posting with docID `docid` or more, forwards or back. The block at hand is kept if it is there.
  void restart(docid_t docid);

  /// Adds the parts of all postings in [begin, end) to scores[docid - begin], and moves past them. Where there are
  /// priors, scores that are negative begin with them.
  void add_to(docid_t begin, docid_t end, float* scores);

  /// Adds its parts to the scores of the documents that it has, and drops those that can't become results: the lists
  /// behind it add at most `rest`. The documents' docIDs rise, also from call to call.
  void complete(std::vector<ScoredDocument>& documents, double rest, const ScoreCut& cut);
  /// Adds its parts to the scores of the documents that it has, and drops the others. The documents' docIDs rise, also
  /// from call to call.
  void intersect(std::vector<ScoredDocument>& documents);
  /// Decodes the next block that may hold docID `docid` or a greater one, and replaces `documents` by those of its
  /// documents, with scores of 0. False where there is none.
  bool take_block(docid_t docid, std::vector<ScoredDocument>& documents);

 private:
  bool seek(docid_t docid);
  /// Adds the parts at places [place_, stop) of the block at hand.
  void add_parts_to(docid_t begin, unsigned stop, float* scores);
  /// Goes to the block that `docid` would lie in, unless it lies behind; false where there is none.
  bool pass_to_block(docid_t docid);
  void enter_block();
  void leave_block();
  void compute_term_scores();
  /// Calls take(documents, found, places), some documents at a time: documents[found[i]] stands at places[i] of the
  /// block at hand.
  template <class Take>
  void look_up(std::span<ScoredDocument> documents, Take&& take);
  /// Adds the parts of documents within the block at hand.
  void add_in_block(std::span<ScoredDocument> documents);
  /// Moves those of the documents within the block at hand that it has to the front, with its parts added; returns how
  /// many.
  std::size_t keep_in_block(std::span<ScoredDocument> documents);
  /// Adds to documents[found[i]] the part of the posting at places[i] of the block at hand.
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
  std::size_t block_ = 0;  ///< the one in which next_ lies
  unsigned place_ = 0;     ///< in it, where `entered_`
  bool entered_ = false;   ///< the block is decoded
  bool has_term_scores_ = false;
  std::array<float, max_block_size + over_write_values> term_scores_;
};

}  // namespace quern
