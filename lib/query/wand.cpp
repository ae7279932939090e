#include <algorithm>
#include <vector>

#include "quern/query/algorithm.hpp"
#include "quern/query/bounded_cursor.hpp"
#include "quern/query/threshold.hpp"

namespace quern {
namespace {

/// WAND (Broder et al., CIKM 2003) and, with block maxima, BMW (Ding, Suel: Faster Top-k Document Retrieval Using
/// Block-Max Indexes, SIGIR 2011). Cursors stand in the order of their docIDs; the pivot is the first document whose
/// lists' bounds together pass the threshold.
template <bool with_block_maxima>
class Wand {
 public:
  Wand(const ScoringContext& context, std::span<const WeightedList> lists, TopK& top)
      : top_(top), threshold_(context, lists, top) {
    cursors_.reserve(lists.size());
    for (const WeightedList& list : lists) cursors_.emplace_back(context, list);
    for (BoundedCursor& cursor : cursors_) by_docid_.push_back(&cursor);
    sort();
  }

  void run() {
    while (find_pivot()) {
      if (with_block_maxima && skip_by_block_maxima()) continue;
      if (by_docid_.front()->docid() == pivot_docid()) {
        score_pivot();
      } else {
        advance_to_pivot();
      }
    }
  }

 private:
  docid_t pivot_docid() const { return by_docid_[pivot_]->docid(); }

  void sort() {
    std::sort(by_docid_.begin(), by_docid_.end(),
              [](const BoundedCursor* a, const BoundedCursor* b) { return a->docid() < b->docid(); });
  }

  /// Puts the cursor at `place`, which has moved forwards, where it belongs.
  void sift(std::size_t place) {
    for (; place + 1 < by_docid_.size() && by_docid_[place + 1]->docid() < by_docid_[place]->docid(); ++place)
      std::swap(by_docid_[place], by_docid_[place + 1]);
  }

  /// Finds the pivot, and behind it all cursors that stand at its document. False where nothing can be a result any
  /// more.
  bool find_pivot() {
    const double least = threshold_.value();
    double sum = 0;
    for (pivot_ = 0; pivot_ < by_docid_.size(); ++pivot_) {
      if (by_docid_[pivot_]->docid() == end_docid) return false;
      sum += by_docid_[pivot_]->max_part();
      if (with_slack(sum, cursors_.size()) > least) break;
    }
    if (pivot_ == by_docid_.size()) return false;
    while (pivot_ + 1 < by_docid_.size() && by_docid_[pivot_ + 1]->docid() == pivot_docid()) ++pivot_;
    return true;
  }

  /// Where the blocks around the pivot's document can't make a result, passes to the end of the nearest of them.
  bool skip_by_block_maxima() {
    const docid_t docid = pivot_docid();
    double sum = 0;
    docid_t last = end_docid - 1;
    for (std::size_t i = 0; i <= pivot_; ++i) {
      by_docid_[i]->seek_block(docid);
      sum += by_docid_[i]->block_bound();
      last = std::min(last, by_docid_[i]->block_last());
    }
    if (with_slack(sum, cursors_.size()) > threshold_.value()) return false;
    docid_t target = last + 1;
    if (pivot_ + 1 < by_docid_.size()) target = std::min(target, by_docid_[pivot_ + 1]->docid());
    target = std::max(target, docid + 1);
    // The one with the greatest bound leads the furthest away; the others follow when they become the pivot's.
    std::size_t best = 0;
    for (std::size_t i = 1; i <= pivot_; ++i)
      if (by_docid_[i]->max_part() > by_docid_[best]->max_part()) best = i;
    by_docid_[best]->next_geq(target);
    sift(best);
    return true;
  }

  void advance_to_pivot() {
    const docid_t docid = pivot_docid();
    std::size_t best = pivot_;
    for (std::size_t i = 0; i < pivot_; ++i) {
      if (by_docid_[i]->docid() == docid) break;
      if (best == pivot_ || by_docid_[i]->max_part() > by_docid_[best]->max_part()) best = i;
    }
    by_docid_[best]->next_geq(docid);
    sift(best);
  }

  /// Scores the pivot's document, in the order of summation, and moves its cursors on.
  void score_pivot() {
    const docid_t docid = pivot_docid();
    float score = 0;
    for (BoundedCursor& cursor : cursors_) {
      if (cursor.docid() != docid) continue;
      score += cursor.part();
      cursor.next();
    }
    top_.add(docid, score);
    sort();
  }

  TopK& top_;
  Threshold threshold_;
  std::vector<BoundedCursor> cursors_;  ///< in the order of summation
  std::vector<BoundedCursor*> by_docid_;
  std::size_t pivot_ = 0;
};

}  // namespace

void run_wand(const ScoringContext& context, std::span<const WeightedList> lists, TopK& top) {
  Wand<false>(context, lists, top).run();
}

void run_bmw(const ScoringContext& context, std::span<const WeightedList> lists, TopK& top) {
  Wand<true>(context, lists, top).run();
}

}  // namespace quern
