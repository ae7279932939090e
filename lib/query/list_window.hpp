#pragma once
#include <algorithm>
#include <array>
#include <span>

#include "quern/core/bm25.hpp"
#include "quern/query/algorithm.hpp"
#include "quern/query/block_reader.hpp"

namespace quern {

/// Documents that are looked at together: their scores gather in an array that stays in the first cache.
inline constexpr docid_t window_documents = 1024;

/// The end of the window that begins at `begin`: behind its last document.
inline docid_t window_end(const ScoringContext& context, docid_t begin) {
  return begin + std::min(window_documents, context.index->num_documents() - begin);
}

/// One list of a query, walked in windows of docIDs that rise. A block's parts (weight times impact) are computed
/// together when the block is first added to a window.
class ListWindow {
 public:
  ListWindow(const ScoringContext& context, const WeightedList& list);

  /// No posting that is not passed yet has a lower docID; end_docid at the end.
  docid_t next_docid() const { return next_; }
  /// Bounds all parts of the list.
  float max_part() const { return max_part_; }
  /// Bounds the parts in [begin, end), from the block rows; `begin` rises from call to call. Nothing is decoded.
  float bound(docid_t begin, docid_t end);

  /// Adds the parts of all postings in [begin, end) to scores[docid - begin], and moves past them.
  void add_to(docid_t begin, docid_t end, float* scores);

  /// Moves to the first posting with docID `docid` or more; true where it is `docid`. docIDs rise from call to call.
  bool find(docid_t docid);
  /// The part of the posting that find() stands at.
  float part() {
    ++statistics_->postings_scored;
    if (has_parts_) return parts_[place_];
    // A few frequencies of a block are read one by one; where more are wanted, the block is decoded.
    const freq_t freq = freqs_read_++ < single_freqs ? reader_.freq(place_) : reader_.freqs()[place_];
    return weight_ * impact(freq, constants_[reader_.docids()[place_]]);
  }

 private:
  static constexpr unsigned single_freqs = 2;

  bool seek(docid_t docid);
  void pass_block();
  void compute_parts();

  BlockReader reader_;
  QueryStatistics* statistics_;
  std::span<const float> constants_;
  float weight_;
  float max_part_ = 0;
  bool bounds_hold_;
  docid_t next_;
  std::size_t block_ = 0;  ///< the one in which next_ lies
  unsigned place_ = 0;     ///< in it, where `entered_`
  bool entered_ = true;    ///< the block is decoded
  bool has_parts_ = false;
  unsigned freqs_read_ = 0;      ///< of the block, one by one
  std::size_t bound_block_ = 0;  ///< the first block that reaches the last bound()'s begin
  std::array<float, max_block_size> parts_;
};

}  // namespace quern
