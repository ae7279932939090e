#pragma once
#include <array>
#include <span>
#include <vector>

#include "quern/search/intersected_list.hpp"
#include "quern/search/kernels.hpp"
#include "quern/search/threshold.hpp"

namespace quern {

/// The intersection of a query's lists, with scores: one block of the shortest list at a time, in any order. Looks the
/// block's documents up in the other lists and scores only those that are in all of them. Skips blocks whose upper
/// bounds do not reach the threshold. Opens a list once a document is in all lists before it, which most lists of a
/// long query never see, and computes upper bounds once they can matter.
class ScoredIntersection {
 public:
  ScoredIntersection(const ScoringContext& context, std::span<const WeightedList> lists, TopK& top);

  /// Finds all results. The blocks with the highest upper bounds come first, so that the threshold is high from the
  /// start, then the others in docID order.
  void run();

 private:
  /// List i of the query; opens it if necessary. All lists before it must be open.
  IntersectedList& open(std::size_t i);
  /// Prepares upper bounds of the lists. Opens short lists.
  void make_bounds(docid_t docid);
  /// Computes the upper bounds of the scores in each unit: neighbouring blocks of the shortest list.
  void bound_units();
  void probe();
  void finish();
  /// Scores the blocks of a unit, in docID order. False if no later document can be a result.
  bool score_unit(std::size_t unit);
  bool score_block(std::size_t block);
  /// Finds the documents of the shortest list's current block, from `from` on, that are in all lists.
  void intersect(docid_t from);
  void score_found();
  /// Sets bounds_ for documents in [begin, end); returns their sum. `begin` ascends from one restart() to the next.
  double bound_lists(docid_t begin, docid_t end);
  void restart(docid_t docid);
  std::size_t num_blocks() const { return lists_[0].num_blocks(); }
  docid_t first_docid(std::size_t block) const;
  /// The last docID of the blocks [first, end); checks their rows.
  docid_t last_docid(std::size_t first, std::size_t end) const;
  ScoreCut cut_from(docid_t docid) const {
    return ScoreCut(threshold_.value(docid), context_.addends(lists_.size()), context_.nothing());
  }

  const ScoringContext& context_;
  TopK& top_;
  Threshold threshold_;
  bool prunes_;  ///< whether postings may be skipped; false while visits are counted
  std::span<const WeightedList> all_lists_;
  std::vector<IntersectedList> lists_;  ///< the open ones, always the first
  std::size_t blocks_per_unit_ = 1, num_units_;
  std::vector<double> unit_bounds_;      ///< context_.nothing() for units that are done; empty without probing
  std::vector<ListBounds> list_bounds_;  ///< empty until they matter
  std::vector<double> bounds_;           ///< of each list, in the range of the current block; then of the static scores
  Candidates found_;
  bool has_threshold_ = false;  ///< whether scores in the current block must exceed one
  bool has_scores_ = false;     ///< whether the shortest list's term scores are known
  std::array<float, max_looked_up + kernel_slack> first_scores_;
  std::array<std::uint16_t, max_looked_up> numbers_;
};

}  // namespace quern
