#pragma once
#include <array>
#include <span>

#include "quern/core/scratch_memory.hpp"
#include "quern/search/list_window.hpp"
#include "quern/search/scoring.hpp"

namespace quern {

/// Maximum number of documents looked up together: a block of the shortest list.
inline constexpr std::size_t max_looked_up = max_block_size;

/// One list of an intersection. It finds documents first and scores later only those that are in all lists, so that it
/// decodes frequencies only in blocks that contain such documents.
class IntersectedList {
 public:
  /// `first`: term scores include static scores, with which sums begin.
  IntersectedList(const ScoringContext& context, const WeightedList& list, bool first);

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

}  // namespace quern
