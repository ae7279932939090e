#include <algorithm>
#include <vector>

#include "quern/query/algorithm.hpp"
#include "quern/query/bounded_cursor.hpp"
#include "quern/query/row_search.hpp"
#include "quern/query/window_union.hpp"

namespace quern {
namespace {

/// Documents between two looks at the ceiling: one at each pivot would cost a cache miss each time.
constexpr docid_t upper_bound_step = 256;

/// A list of the query where it stands: it has no posting from the last document that was looked at up to `docid`,
/// which its cursor may not have reached yet.
struct Standing {
  docid_t docid = 0;
  std::uint32_t list = 0;
};

/// The block of a list that the pivot's document would lie in.
struct BlockAtPivot {
  std::size_t block = 0;
  docid_t last = 0;  ///< up to which the bound holds
  float bound = 0;
  bool known = false;
};

/// WAND (Broder et al., CIKM 2003) and, with block maxima, BMW (Ding, Suel: Faster Top-k Document Retrieval Using
/// Block-Max Indexes, SIGIR 2011). Lists stand in the order of their docIDs; the pivot is the first document whose
/// lists' bounds together pass the threshold. Where their blocks' bounds do not, BMW moves the lists on without moving
/// their cursors, which follow only when they are asked for a part.
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
      standing_.push_back({cursor.docid(), i});
      stands_at_.push_back(cursor.docid());
      bounds_.emplace_back(cursor.list(), cursor.scorer(), cursor.max_term_score());
      max_term_scores_.push_back(cursor.max_term_score());
    }
    for (const float bound : context.static_score_bounds) static_score_bound_ = std::max(static_score_bound_, bound);
    sort();
  }

  /// All documents, with the bounds of whole lists.
  void run() { run_range(context_.index->num_documents()); }

  /// All documents, window by window, with the bounds that lists have there. `bounds` says what documents may score in
  /// each; nothing where `top` has the window's documents already.
  void run(const Windows& windows, std::span<const double> bounds) {
    for (std::size_t window = 0; window < bounds.size(); ++window) {
      const docid_t begin = windows.begin(window), end = windows.end(window);
      min_ = threshold_.value(begin);
      if (context_.none_above(begin, static_cast<float>(min_))) return context_.stop_early(begin);
      if (bounds[window] <= context_.nothing() || !can_pass(bounds[window])) continue;
      static_score_bound_ = context_.static_score_bound(window);
      pass_to(begin);
      set_bounds(begin, end);
      run_range(end);
    }
  }

 private:
  bool can_pass(double bound) const { return bound * slack_ > min_; }

  /// Lists are few and most stand in order already.
  void sort() {
    for (std::size_t i = 1; i < standing_.size(); ++i) {
      const Standing moved = standing_[i];
      std::size_t place = i;
      for (; place > 0 && standing_[place - 1].docid > moved.docid; --place) standing_[place] = standing_[place - 1];
      standing_[place] = moved;
    }
  }

  void set_bounds(docid_t begin, docid_t end) {
    for (std::size_t i = 0; i < bounds_.size(); ++i)
      max_term_scores_[i] = stands_at_[i] < end ? bounds_[i].in(begin, end) : 0;
  }

  /// Documents from where the lists stand to before `end`.
  void run_range(docid_t end) {
    while (find_pivot(end)) {
      if (with_block_maxima && (skip_blocks() || skip_postings(end))) continue;
      score_pivot();
    }
  }

  /// Finds the pivot, and how many lists may stand at its document or before. False where nothing before `end` can be a
  /// result any more.
  bool find_pivot(docid_t end) {
    const docid_t first = standing_.front().docid;
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
      if (i == standing_.size() || standing_[i].docid >= end) return false;
      bound += max_term_scores_[standing_[i].list];
      if (can_pass(bound)) break;
    }
    pivot_ = standing_[i].docid;
    while (++i < standing_.size() && standing_[i].docid == pivot_) {
    }
    count_ = i;
    return true;
  }

  /// Moves the lists before `docid` there.
  void pass_to(docid_t docid) {
    for (Standing& standing : standing_) {
      if (standing.docid >= docid) return;
      standing.docid = stands_at_[standing.list] = docid;
    }
  }

  /// Where the blocks around the pivot's document can't make a result, passes to the end of the nearest of them.
  bool skip_blocks() {
    double bound = static_score_bound_;
    docid_t last = end_docid - 1;
    for (std::size_t i = 0; i < count_; ++i) {
      const BlockAtPivot& block = block_at_pivot(standing_[i].list);
      bound += block.bound;
      last = std::min(last, block.last);
    }
    if (can_pass(bound)) return false;
    pass_to(count_ < standing_.size() ? std::min(last + 1, standing_[count_].docid) : last + 1);
    return true;
  }

  /// Where one list alone stands at the pivot's document and the others are somewhere before it, passes over that
  /// list's postings that can't make a result with what the others' blocks may add.
  bool skip_postings(docid_t end) {
    std::uint32_t lead = 0, leads = 0;
    docid_t last = end - 1;
    for (std::size_t i = 0; i < count_; ++i) {
      const std::uint32_t list = standing_[i].list;
      last = std::min(last, blocks_[list].last);
      if (cursors_[list].docid() != pivot_) continue;
      lead = list;
      ++leads;
    }
    if (leads != 1) return false;
    if (count_ < standing_.size()) last = std::min(last, standing_[count_].docid - 1);
    double rest = static_score_bound_;
    for (std::size_t i = 0; i < count_; ++i)
      if (standing_[i].list != lead) rest += blocks_[standing_[i].list].bound;
    BoundedCursor& cursor = cursors_[lead];
    const ScoreCut cut(min_, addends_, context_.nothing());
    const bool found = cursor.find_part_above(cut.min_score(rest), last);
    if (found && cursor.docid() == pivot_) return false;
    pass_to(found ? cursor.docid() : last + 1);
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
    const bool behind = at.block == last.size();
    at.last = behind ? end_docid - 1 : last[at.block];
    at.bound = behind ? 0 : cursors_[i].scorer().block_bound(list, at.block);
    return at;
  }

  /// Scores the pivot's document, list by list in the order of summation; stops as soon as what is left can't lift it
  /// above the threshold, so that few cursors move. All lists pass the document.
  void score_pivot() {
    for (std::size_t i = cursors_.size(); i-- > 0;) {
      const float bound = with_block_maxima ? blocks_[i].bound : max_term_scores_[i];
      rests_[i] = rests_[i + 1] + (stands_at_[i] <= pivot_ ? bound : 0);
    }
    float score = context_.static_scores.empty() ? 0 : context_.static_scores[pivot_];
    bool passes = true, found = false;
    for (std::size_t i = 0; i < cursors_.size() && passes; ++i) {
      if (stands_at_[i] > pivot_) continue;
      BoundedCursor& cursor = cursors_[i];
      cursor.next_geq(pivot_);
      if (cursor.docid() == pivot_) {
        score += cursor.term_score();
        found = true;
        cursor.next();
      }
      stands_at_[i] = cursor.docid();
      passes = can_pass(score + rests_[i + 1]);
    }
    if (passes && found) top_.add(pivot_, score);
    for (std::size_t i = 0; i < count_; ++i) {
      Standing& standing = standing_[i];
      docid_t& at = stands_at_[standing.list];
      standing.docid = at = std::max(at, pivot_ + 1);
    }
    sort();
  }

  const ScoringContext& context_;
  TopK& top_;
  Threshold threshold_;
  std::size_t addends_;
  double slack_;
  float static_score_bound_ = 0;        ///< of the range of documents at hand
  docid_t next_upper_bound_ = 0;        ///< from where on the ceiling is looked at again
  std::vector<BoundedCursor> cursors_;  ///< in the order of summation, like the next five
  std::vector<docid_t> stands_at_;
  std::vector<ListBounds> bounds_;
  std::vector<float> max_term_scores_;  ///< of the range of documents at hand
  std::vector<BlockAtPivot> blocks_;
  std::vector<double> rests_;       ///< what a list and those behind it can add to the pivot's document
  std::vector<Standing> standing_;  ///< in the order of docIDs
  double min_ = 0;                  ///< what a result must pass
  docid_t pivot_ = 0;
  std::size_t count_ = 0;  ///< lists that stand at the pivot's document or before
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
