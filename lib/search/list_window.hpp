#pragma once
#include <bit>

#include "quern/formats/posting_reader.hpp"
#include "quern/search/algorithm.hpp"
#include "quern/search/hash_segments.hpp"
#include "quern/search/kernels.hpp"
#include "quern/search/scoring.hpp"

namespace quern {

/// A position in one list of a query. It moves from block to block by the block rows and decodes only blocks that it
/// enters.
class ListBlocks {
 public:
  ListBlocks(const ScoringContext& context, const PostingList& list);

  BlockReader& reader() { return reader_; }
  const BlockReader& reader() const { return reader_; }
  /// The current block: the first that may have remaining postings. The number of blocks if none has.
  std::size_t block() const { return block_; }
  unsigned block_size() const { return block_size_; }
  /// How many postings come before the current block.
  std::size_t first_posting() const { return block_ * block_size_; }
  /// The current block's last docID; not at the end.
  docid_t last() const { return reader_.last(block_); }
  bool at_end() const { return next_ == end_docid; }
  /// Lower bound of the docIDs of the remaining postings; end_docid at the end.
  docid_t next_docid() const { return next_; }
  /// Call after reading postings of the current block: all below `next` are done.
  void set_next(docid_t next) { next_ = next; }

  /// Moves to the first block that may contain docIDs from `docid` on, forwards or back.
  void restart(docid_t docid);
  /// Like restart(), but only moves forwards. Returns false if no later block can contain `docid`. `buckets`: the
  /// list's rows in buckets; null to search without.
  bool move_to(docid_t docid, const RowBuckets* buckets = nullptr) {
    if (at_end()) return false;
    return last() >= docid || search(docid, buckets);
  }
  /// The end of a range of documents from `docid` on that holds at most `postings` remaining postings and ends with a
  /// block: `docid` if one block has more, end_docid if the range covers the rest. Decodes nothing.
  docid_t end_of_postings(docid_t docid, std::size_t postings) const;
  /// Moves to the next block.
  void leave();
  /// Decodes the current block; returns false if it was already decoded.
  bool enter();
  BlockDocids docids() const { return {reader_.docids().data(), reader_.size()}; }

 private:
  bool search(docid_t docid, const RowBuckets* buckets);

  BlockReader reader_;
  docid_t next_ = 0;
  std::size_t block_ = 0;
  unsigned block_size_;
};

// Windows of documents that are processed together, and their scores.

/// Cuts the documents of a collection into windows of equal size. The scores of a window fit in a cache. Upper bounds
/// from block maxima are tighter in small windows, but each window has a fixed cost.
class Windows {
 public:
  static constexpr docid_t min_size = 512, max_size = 16384;
  /// Most windows of a query, as long as max_size allows: their upper bounds take 8 bytes each.
  static constexpr std::uint64_t max_count = 8192;

  /// `size`: clamped to [min_size, max_size] and rounded down to a power of two.
  Windows(docid_t num_documents, std::uint64_t size)
      : num_documents_(num_documents),
        shift_(static_cast<unsigned>(
            std::countr_zero(std::bit_floor(std::clamp<std::uint64_t>(size, min_size, max_size))))) {}

  docid_t num_documents() const { return num_documents_; }
  docid_t size() const { return docid_t{1} << shift_; }
  std::size_t count() const { return (std::size_t{num_documents_} + size() - 1) >> shift_; }
  /// The window of a document, which must be one of the collection.
  std::size_t of(docid_t docid) const { return docid >> shift_; }
  docid_t begin(std::size_t window) const { return static_cast<docid_t>(window << shift_); }
  /// One past the window's last document.
  docid_t end(std::size_t window) const { return begin(window) + std::min(size(), num_documents_ - begin(window)); }

 private:
  docid_t num_documents_;
  unsigned shift_;
};

/// The scores of one window's documents. Documents that no added list contains hold a mark below all scores.
class WindowScores {
 public:
  /// `nothing` is the mark.
  WindowScores(const Windows& windows, float nothing) : nothing_(nothing), scores_(windows.size()) {}

  float* data() {
    if (!is_filled_) std::fill_n(scores_.get(), scores_.size(), nothing_);
    is_filled_ = true;
    return scores_.get();
  }
  /// Replaces `found` by the documents of the window [begin, end) with scores above `min` (which is at least the mark),
  /// in docID order, and sets all scores to the mark.
  void take_above(float min, docid_t begin, docid_t end, Candidates& found) {
    found.resize(query_kernels().take_above(data(), end - begin, begin, min, nothing_, found.from(0)));
  }

 private:
  float nothing_;
  bool is_filled_ = false;  ///< set on first use: many queries add up no window
  ScratchArray<float> scores_;
};

/// One list of a query, read in windows of docIDs that ascend from one restart() to the next. The term scores of a
/// block are computed together when the block is first added to a window.
class ListWindow {
 public:
  /// Without `by_block`, complete() uses only the upper bound of the whole list.
  ListWindow(const ScoringContext& context, const WeightedList& list, bool by_block = true);

  /// Postings of the whole list.
  std::uint64_t postings() const { return reader().list().df; }
  /// Lower bound of the docIDs of the remaining postings; end_docid at the end.
  docid_t next_docid() const { return blocks_.next_docid(); }
  /// The end of a range of documents from `begin` on with at most `postings` postings; `begin` if unknown.
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
  /// Adds the term scores of the documents that the list contains. The docIDs ascend, also from call to call. Not for
  /// scores that begin with static scores.
  void add_to(Candidates& documents);
  /// Replaces `taken` by the documents in [begin, end) with term scores above `min`, and moves past them. Not for
  /// scores that begin with static scores.
  void take_above(docid_t begin, docid_t end, float min, Candidates& taken);

  /// Adds the term scores of the documents that the list contains, and drops documents that cannot become results given
  /// that later lists add at most `rest`. The docIDs ascend, also from call to call.
  void complete(Candidates& documents, double rest, const ScoreCut& cut);

 private:
  /// Calls take(docids, place, n) for batches of the postings in [begin, end), and moves past them.
  template <class Take>
  void walk(docid_t begin, docid_t end, Take&& take);
  bool move_to_block(docid_t docid);
  bool seek(docid_t docid);
  void enter_block();
  /// Those of the current block, computed on first use.
  const float* term_scores();
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
  const std::uint8_t* impacts_;  ///< which add_to() can use as they are; null: none
  ListBounds bounds_;
  bool by_block_;
  unsigned place_ = 0;  ///< in the current block, if `entered_`
  bool entered_ = false;
  bool has_term_scores_ = false;
  ScratchArray<float> term_scores_;
};

}  // namespace quern
