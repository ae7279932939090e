#include "quern/search/range_union.hpp"

namespace quern {
namespace {

/// Upper bounds of a list's term scores, block by block, from its block rows alone.
class BlockBounds {
 public:
  BlockBounds(const ScoringContext& context, const WeightedList& list, float max_term_score)
      : list_(list.list), scorer_(context, list), bound_(max_term_score) {
    if (!list_.block_last.empty() && scorer_.bounds_hold()) enter_block(0);
  }

  /// Moves forwards to the block whose range contains `docid`; returns whether that is a new block.
  bool move_to(docid_t docid) {
    if (docid <= last_) return false;
    enter_block(search_rows(list_.block_last, block_, docid));
    return true;
  }
  /// For the term scores in the current block, up to docID last().
  float bound() const { return bound_; }
  docid_t last() const { return last_; }

 private:
  void enter_block(std::size_t block) {
    const bool is_after = block == list_.block_last.size();
    block_ = block;
    last_ = is_after ? end_docid : list_.block_last[block];
    bound_ = is_after ? 0 : scorer_.block_bound(list_, block);
  }

  const PostingList& list_;
  ListScorer scorer_;
  std::size_t block_ = 0;
  docid_t last_ = end_docid;
  float bound_;
};

/// Maximum number of documents scored together, in a small collection.
constexpr docid_t min_bmw_range = 2048, bmw_ranges = 256;

/// BMW (Ding, Suel: Faster Top-k Document Retrieval Using Block-Max Indexes, SIGIR 2011): skips documents without
/// decoding their blocks where the blocks' upper bounds sum up to too little. The documents in between are scored by
/// range.
class BlockMaxWand {
 public:
  BlockMaxWand(const ScoringContext& context, std::span<const WeightedList> lists, WindowUnion& windows, TopK& top)
      : context_(context),
        threshold_(primed_threshold(context, lists, top.k()), top),
        addends_(context.addends(lists.size())),
        windows_(windows),
        sizes_(context.index->num_documents(), std::max(min_bmw_range, context.index->num_documents() / bmw_ranges)),
        ranges_(context, windows.lists(), sizes_, sizes_.size(), top),
        range_bounds_(lists.size()),
        cut_(cut_at(0)) {
    blocks_.reserve(lists.size());
    for (std::size_t i = 0; i < lists.size(); ++i)
      blocks_.emplace_back(context, lists[i], windows.lists()[i].max_term_score());
    for (ListWindow& list : windows.lists()) list.restart(0);
  }

  /// Visits all windows that were not probed.
  void run() {
    const Windows& windows = windows_.windows();
    for (std::size_t window = 0; window < windows.count(); ++window) {
      const double bound = windows_.bounds()[window];
      // The last threshold may end the query.
      if (!context_.upper_bounds.empty()) finish_range();
      const docid_t begin = windows.begin(window);
      const docid_t end = end_of_results(context_, begin, windows.end(window), threshold_.value(begin));
      if (bound > context_.nothing() && cut_.can_pass(bound))
        visit(begin, end, context_.static_score_bound(begin, end));
      if (end < windows.end(window)) {
        finish_range();
        return context_.stop_early(end);
      }
    }
    finish_range();
  }

 private:
  ScoreCut cut_at(docid_t docid) const { return {threshold_.value(docid), addends_, context_.nothing()}; }

  /// Adds a window's blocks that can contain results to ranges.
  void visit(docid_t begin, docid_t end, float static_score) {
    for (docid_t docid = begin; docid < end;) {
      double bound = static_score;
      docid_t last = end - 1;
      bool moved = false;
      for (BlockBounds& list : blocks_) {
        moved |= list.move_to(docid);
        bound += list.bound();
        last = std::min(last, list.last());
      }
      if (cut_.can_pass(bound)) {
        // Blocks may reach over many windows.
        if (docid != range_end_ || (moved && last - range_ >= sizes_.size())) finish_range();
        extend_range(docid, last + 1, static_score);
      }
      docid = last + 1;
    }
  }

  /// Extends the range by documents in the lists' current blocks, or begins a new range with them.
  void extend_range(docid_t begin, docid_t end, float static_score) {
    const bool begins = range_ == range_end_;
    if (begins) range_ = begin;
    range_end_ = end;
    static_score_ = begins ? static_score : std::max(static_score_, static_score);
    for (std::size_t i = 0; i < blocks_.size(); ++i)
      range_bounds_[i] = begins ? blocks_[i].bound() : std::max(range_bounds_[i], blocks_[i].bound());
  }

  /// Scores the open range, if any.
  void finish_range() {
    while (range_ < range_end_) {
      range_ = ranges_.score(range_, range_end_, {range_bounds_, static_score_}, cut_);
      cut_ = cut_at(range_);
    }
  }

  const ScoringContext& context_;
  Threshold threshold_;
  std::size_t addends_;
  WindowUnion& windows_;
  Windows sizes_;  ///< as large as the largest range
  RangeUnion ranges_;
  std::vector<BlockBounds> blocks_;    ///< of the lists, in the order of summation
  docid_t range_ = 0, range_end_ = 0;  ///< the open range, which may still grow
  std::vector<float> range_bounds_;
  float static_score_ = 0;
  ScoreCut cut_;
};

}  // namespace

void run_bmw(const ScoringContext& context, std::span<const WeightedList> lists, TopK& top) {
  WindowUnion windows(context, lists, top);
  windows.probe();
  BlockMaxWand(context, lists, windows, top).run();
}

}  // namespace quern
