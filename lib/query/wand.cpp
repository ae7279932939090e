#include <algorithm>
#include <array>
#include <vector>

#include "quern/query/algorithm.hpp"
#include "quern/query/scoring.hpp"
#include "quern/query/threshold.hpp"
#include "quern/query/window_union.hpp"

namespace quern {
namespace {

/// A cursor with the term score of its posting and an upper bound of all term scores of the list.
class BoundedCursor {
 public:
  BoundedCursor(const ScoringContext& context, const WeightedList& list)
      : cursor_(*context.index, list.list, &context.statistics->blocks_decoded),
        scorer_(context, list),
        statistics_(context.statistics),
        max_term_score_(scorer_.list_bound(cursor_.reader())),
        scored_block_(cursor_.reader().num_blocks()) {}

  docid_t docid() const { return cursor_.docid(); }
  void next() { cursor_.next(); }
  void next_geq(docid_t target) { cursor_.next_geq(target); }
  /// The term score of the current posting.
  float term_score() {
    if (scored_block_ == cursor_.reader().block()) return term_scores_[cursor_.place()];
    ++statistics_->postings_scored;
    return scorer_.term_score(cursor_.reader(), cursor_.place());
  }
  /// Moves to the next posting in the current block, up to docID `last`, whose term score is above `min`. If there is
  /// none, returns false and stays at the last of these postings, or just after `last`. Computes all term scores of the
  /// block at once.
  bool find_term_score_above(float min, docid_t last);
  /// Upper bound of all term scores.
  float max_term_score() const { return max_term_score_; }
  const PostingList& list() { return cursor_.reader().list(); }
  const ListScorer& scorer() const { return scorer_; }

 private:
  PostingCursor cursor_;
  ListScorer scorer_;
  QueryStatistics* statistics_;
  float max_term_score_;
  std::size_t scored_block_;  ///< the block whose term scores are in term_scores_
  std::array<float, max_block_size + over_write_values> term_scores_;
};

bool BoundedCursor::find_term_score_above(float min, docid_t last) {
  BlockReader& reader = cursor_.reader();
  if (scored_block_ != reader.block()) {
    scorer_.term_scores(reader, term_scores_.data());
    scored_block_ = reader.block();
    statistics_->postings_scored += reader.size();
  }
  const auto docids = reader.docids();
  const auto stop = static_cast<unsigned>(search_block(docids, cursor_.place(), last + 1));
  for (unsigned place = cursor_.place(); place < stop; ++place) {
    if (term_scores_[place] > min) {
      cursor_.move_to(place);
      return true;
    }
  }
  cursor_.move_to(std::min(stop, reader.size() - 1));
  return false;
}

/// Documents between two checks of the upper bounds of documents: each check costs a cache miss.
constexpr docid_t upper_bound_step = 256;

/// The position of a list: it has no posting from the last scored document up to `docid`, which its cursor may not have
/// reached yet.
struct ListPosition {
  docid_t docid = 0;
  std::uint32_t list = 0;
};

/// The block of a list whose range contains the pivot.
struct BlockAtPivot {
  std::size_t block = 0;
  docid_t last = 0;  ///< the bound holds up to this docID
  float bound = 0;
  bool known = false;
};

/// WAND (Broder et al., CIKM 2003) and, with block maxima, BMW (Ding, Suel: Faster Top-k Document Retrieval Using
/// Block-Max Indexes, SIGIR 2011). Lists are sorted by their docIDs; the pivot is the first document for which the
/// upper bounds of the lists up to it sum up to more than the threshold. If the bounds of their blocks do not, BMW
/// moves the lists forwards without moving their cursors, which follow only when a term score is needed.
template <bool with_block_maxima>
class Wand {
 public:
  Wand(const ScoringContext& context, std::span<const WeightedList> lists, TopK& top)
      : context_(context),
        top_(top),
        threshold_(primed_threshold(context, lists, top.k()), top),
        addends_(context.addends(lists.size())),
        slack_(with_slack(1.0, addends_)),
        blocks_(lists.size()),
        rests_(lists.size() + 1) {
    cursors_.reserve(lists.size());
    for (std::uint32_t i = 0; i < lists.size(); ++i) {
      BoundedCursor& cursor = cursors_.emplace_back(context, lists[i]);
      sorted_.push_back({cursor.docid(), i});
      positions_.push_back(cursor.docid());
      bounds_.emplace_back(cursor.list(), cursor.scorer(), cursor.max_term_score());
      max_term_scores_.push_back(cursor.max_term_score());
    }
    for (const float bound : context.static_score_bounds) static_score_bound_ = std::max(static_score_bound_, bound);
    sort();
  }

  /// All documents, with the upper bounds of whole lists.
  void run() { run_range(context_.index->num_documents()); }

  /// All documents, window by window, with the lists' upper bounds in each window. `bounds` are upper bounds of the
  /// scores in each window, or ScoringContext::nothing() if `top` has the window's documents already.
  void run(const Windows& windows, std::span<const double> bounds) {
    for (std::size_t window = 0; window < bounds.size(); ++window) {
      const docid_t begin = windows.begin(window), end = windows.end(window);
      min_ = threshold_.value(begin);
      if (context_.none_above(begin, static_cast<float>(min_))) return context_.stop_early(begin);
      if (bounds[window] <= context_.nothing() || !can_pass(bounds[window])) continue;
      static_score_bound_ = context_.static_score_bound(begin, end);
      advance_to(begin);
      set_bounds(begin, end);
      run_range(end);
    }
  }

 private:
  bool can_pass(double bound) const { return bound * slack_ > min_; }

  /// Insertion sort: lists are few and mostly sorted already.
  void sort() {
    for (std::size_t i = 1; i < sorted_.size(); ++i) {
      const ListPosition moved = sorted_[i];
      std::size_t place = i;
      for (; place > 0 && sorted_[place - 1].docid > moved.docid; --place) sorted_[place] = sorted_[place - 1];
      sorted_[place] = moved;
    }
  }

  void set_bounds(docid_t begin, docid_t end) {
    for (std::size_t i = 0; i < bounds_.size(); ++i)
      max_term_scores_[i] = positions_[i] < end ? bounds_[i].in(begin, end) : 0;
  }

  /// Documents from the lists' positions to before `end`.
  void run_range(docid_t end) {
    while (find_pivot(end)) {
      if (with_block_maxima && (skip_blocks() || skip_postings(end))) continue;
      score_pivot();
    }
  }

  /// Finds the pivot, and the number of lists that are at it or before. False if no document before `end` can be a
  /// result any more.
  bool find_pivot(docid_t end) {
    const docid_t first = sorted_.front().docid;
    min_ = threshold_.value(first);
    if (first >= next_upper_bound_) {
      next_upper_bound_ = first + upper_bound_step;
      if (context_.none_above(first, static_cast<float>(min_))) {
        context_.stop_early(first);
        return false;
      }
    }
    double bound = static_score_bound_;
    std::size_t i = 0;
    for (;; ++i) {
      if (i == sorted_.size() || sorted_[i].docid >= end) return false;
      bound += max_term_scores_[sorted_[i].list];
      if (can_pass(bound)) break;
    }
    pivot_ = sorted_[i].docid;
    while (++i < sorted_.size() && sorted_[i].docid == pivot_) {
    }
    count_ = i;
    return true;
  }

  /// Moves lists that are before `docid` there.
  void advance_to(docid_t docid) {
    for (ListPosition& position : sorted_) {
      if (position.docid >= docid) return;
      position.docid = positions_[position.list] = docid;
    }
  }

  /// If the blocks around the pivot cannot make a result, moves past the end of the nearest of them.
  bool skip_blocks() {
    double bound = static_score_bound_;
    docid_t last = end_docid - 1;
    for (std::size_t i = 0; i < count_; ++i) {
      const BlockAtPivot& block = block_at_pivot(sorted_[i].list);
      bound += block.bound;
      last = std::min(last, block.last);
    }
    if (can_pass(bound)) return false;
    advance_to(count_ < sorted_.size() ? std::min(last + 1, sorted_[count_].docid) : last + 1);
    return true;
  }

  /// If a single list is at the pivot and the others are before it, skips postings of that list that cannot make a
  /// result together with the upper bounds of the others' blocks.
  bool skip_postings(docid_t end) {
    std::uint32_t lead = 0, leads = 0;
    docid_t last = end - 1;
    for (std::size_t i = 0; i < count_; ++i) {
      const std::uint32_t list = sorted_[i].list;
      last = std::min(last, blocks_[list].last);
      if (cursors_[list].docid() != pivot_) continue;
      lead = list;
      ++leads;
    }
    if (leads != 1) return false;
    if (count_ < sorted_.size()) last = std::min(last, sorted_[count_].docid - 1);
    double rest = static_score_bound_;
    for (std::size_t i = 0; i < count_; ++i)
      if (sorted_[i].list != lead) rest += blocks_[sorted_[i].list].bound;
    BoundedCursor& cursor = cursors_[lead];
    const ScoreCut cut(min_, addends_, context_.nothing());
    const bool found = cursor.find_term_score_above(cut.min_score(rest), last);
    if (found && cursor.docid() == pivot_) return false;
    advance_to(found ? cursor.docid() : last + 1);
    return true;
  }

  const BlockAtPivot& block_at_pivot(std::uint32_t i) {
    BlockAtPivot& at = blocks_[i];
    if (at.known && pivot_ <= at.last) return at;
    const PostingList& list = cursors_[i].list();
    const auto last = list.block_last;
    at.known = true;
    if (last.empty()) {
      at.last = end_docid - 1;
      at.bound = cursors_[i].max_term_score();
      return at;
    }
    at.block = search_rows(last, at.block, pivot_);
    const bool is_after = at.block == last.size();
    at.last = is_after ? end_docid - 1 : last[at.block];
    at.bound = is_after ? 0 : cursors_[i].scorer().block_bound(list, at.block);
    return at;
  }

  /// Scores the pivot, list by list in the order of summation; stops as soon as the remaining lists cannot lift it
  /// above the threshold, so that few cursors move. Moves all lists past the pivot.
  void score_pivot() {
    for (std::size_t i = cursors_.size(); i-- > 0;) {
      const float bound = with_block_maxima ? blocks_[i].bound : max_term_scores_[i];
      rests_[i] = rests_[i + 1] + (positions_[i] <= pivot_ ? bound : 0);
    }
    float score = context_.static_scores.empty() ? 0 : context_.static_scores[pivot_];
    bool passes = true, found = false;
    for (std::size_t i = 0; i < cursors_.size() && passes; ++i) {
      if (positions_[i] > pivot_) continue;
      BoundedCursor& cursor = cursors_[i];
      cursor.next_geq(pivot_);
      if (cursor.docid() == pivot_) {
        score += cursor.term_score();
        found = true;
        cursor.next();
      }
      positions_[i] = cursor.docid();
      passes = can_pass(score + rests_[i + 1]);
    }
    if (passes && found) top_.add(pivot_, score);
    for (std::size_t i = 0; i < count_; ++i) {
      ListPosition& position = sorted_[i];
      docid_t& at = positions_[position.list];
      position.docid = at = std::max(at, pivot_ + 1);
    }
    sort();
  }

  const ScoringContext& context_;
  TopK& top_;
  Threshold threshold_;
  std::size_t addends_;
  double slack_;
  float static_score_bound_ = 0;        ///< in the current range of documents
  docid_t next_upper_bound_ = 0;        ///< from this docID on, the upper bounds are checked again
  std::vector<BoundedCursor> cursors_;  ///< in the order of summation, like the next five
  std::vector<docid_t> positions_;
  std::vector<ListBounds> bounds_;
  std::vector<float> max_term_scores_;  ///< in the current range of documents
  std::vector<BlockAtPivot> blocks_;
  std::vector<double> rests_;         ///< upper bound of what a list and those after it add to the pivot
  std::vector<ListPosition> sorted_;  ///< by ascending docID
  double min_ = 0;                    ///< results score above it
  docid_t pivot_ = 0;
  std::size_t count_ = 0;  ///< lists that are at the pivot or before
};

}  // namespace

void run_wand(const ScoringContext& context, std::span<const WeightedList> lists, TopK& top) {
  Wand<false>(context, lists, top).run();
}

void run_bmw(const ScoringContext& context, std::span<const WeightedList> lists, TopK& top) {
  WindowUnion windows(context, lists, top);
  windows.probe();
  Wand<true>(context, lists, top).run(windows.windows(), windows.bounds());
}

}  // namespace quern
