#pragma once
#include "quern/search/hash_segments.hpp"
#include "quern/search/kernels.hpp"
#include "quern/search/list_window.hpp"
#include "quern/search/scoring.hpp"

namespace quern {

/// Maximum number of documents looked up together: a block of the shortest list.
inline constexpr std::size_t max_looked_up = max_block_size;

/// One list of an intersection. It finds documents first and scores later only those that are in all lists, so that it
/// decodes frequencies only in blocks that contain such documents.
class IntersectedList {
 public:
  /// `first`: term scores include static scores, with which sums begin. `cuts_rows`: makes RowBuckets for keep_found().
  IntersectedList(const ScoringContext& context, const WeightedList& list, bool first, bool cuts_rows);

  ListBlocks& blocks() { return blocks_; }
  const PostingList& list() const { return blocks_.reader().list(); }
  std::size_t num_blocks() const { return blocks_.reader().num_blocks(); }
  docid_t last(std::size_t block) const { return blocks_.reader().last(block); }
  /// Lower bound of the docIDs of the remaining postings; end_docid at the end.
  docid_t next_docid() const { return blocks_.next_docid(); }
  [[noreturn]] void fail(std::size_t block, const char* why) const { blocks_.reader().fail(block, why); }
  /// Moves to the first posting whose docID is at least `docid`, forwards or back.
  void restart(docid_t docid) { blocks_.restart(docid); }
  /// Upper bound of all term scores.
  float max_term_score() { return scorer_.list_bound(blocks_.reader()); }

  /// Decodes the current block; returns its first docID that is not below `docid`.
  docid_t enter_block(docid_t docid);
  /// Writes the current block's documents from `docid` on that pass the filter to `docids`; returns their number.
  std::size_t take_block(docid_t docid, docid_t* docids);
  /// Ignores the filter; writes the current block's documents from `docid` on with term scores above `min`, and the
  /// scores.
  std::size_t take_block_above(docid_t docid, float min, ScoredArrays taken);
  /// Keeps those of `count` ascending documents that the list contains; returns their number. `docids` has space for
  /// kernel_slack more. Skips blocks whose term scores are at most `min`: none of their documents can be a result.
  std::size_t keep_found(docid_t* docids, std::size_t count, float min);
  /// Chooses the documents to score, by their numbers among those that take_block() or keep_found() kept. Replaces the
  /// numbers by those before keep_found().
  void choose(std::span<std::uint16_t> numbers);
  /// Memory that the object allocates for itself.
  static constexpr std::size_t found_bytes =
      max_looked_up * (sizeof(FoundPosting) + sizeof(std::uint16_t) + sizeof(std::uint32_t)) + 64;
  /// Adds the term scores of the chosen documents to `scores`.
  void add_term_scores(const docid_t* docids, std::size_t count, float* scores);

 private:
  /// Records that the kept documents after the last run, up to `end`, are in the block.
  void end_run(std::size_t end, std::size_t block);

  ListBlocks blocks_;
  std::unique_ptr<const RowBuckets> buckets_;  ///< null: none
  ListScorer scorer_;
  const QueryKernels& kernels_;
  QueryStatistics* statistics_;
  const DocumentSet* passing_;  ///< null: all documents
  /// Allocated separately, like BlockReader::Decoded.
  struct Found {
    /// First for the kept documents, later for the chosen ones: their numbers before filtering, and their places in
    /// blocks.
    std::array<FoundPosting, max_looked_up + 1> postings;
    /// Run i of these documents ends before run_ends[i] and is in the block run_blocks[i].
    std::array<std::uint16_t, max_looked_up> run_ends;
    std::array<std::uint32_t, max_looked_up> run_blocks;
  };
  std::size_t runs_ = 0;
  ScratchArray<Found> found_{1};
};

/// The intersection of a query's lists, with scores: one block of the shortest list at a time, in any order. Looks the
/// block's documents up in the other lists and scores only those that are in all of them. Skips blocks whose upper
/// bounds do not reach the threshold. Opens a list once a document is in all lists before it, which most lists of a
/// long query never see, and computes upper bounds once they can matter.
class ScoredIntersection {
 public:
  /// `cuts_rows`: makes RowBuckets of all lists but the shortest.
  ScoredIntersection(const ScoringContext& context, std::span<const WeightedList> lists, TopK& top, bool cuts_rows);

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
  bool cuts_rows_;
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
