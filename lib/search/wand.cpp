#include "quern/search/range_union.hpp"

namespace quern {
namespace {

/// Maximum number of documents from a pivot on that are scored together, in a small collection: their scores fit the L1
/// cache. The threshold rises only between ranges, so the first ones are shorter, and so are all if it may end the
/// query.
constexpr docid_t min_wand_range = 2048, wand_ranges = 256, short_wand_range = 256;

/// WAND (Broder et al., CIKM 2003): the pivot is the first document for which the upper bounds of the lists that are at
/// it or before it sum up to more than the threshold. No document before it can be a result, so all lists move to it.
/// From there on documents are scored by range: those for which the upper bounds of their lists sum up to enough.
class Wand {
 public:
  Wand(const ScoringContext& context, std::span<const WeightedList> lists, TopK& top)
      : context_(context),
        threshold_(primed_threshold(context, lists, top.k()), top),
        windows_(context.index->num_documents(),
                 std::max(min_wand_range, context.index->num_documents() / wand_ranges)),
        addends_(context.addends(lists.size())) {
    lists_.reserve(lists.size());
    later_.reserve(lists.size());
    for (const WeightedList& list : lists) {
      lists_.emplace_back(context, list, false);
      bounds_.push_back(lists_.back().max_term_score());
    }
    for (const float bound : context.static_score_bounds) static_score_bound_ = std::max(static_score_bound_, bound);
  }

  void run(TopK& top) {
    RangeUnion ranges(context_, lists_, windows_, short_wand_range, top);
    for (docid_t begin = 0; begin < windows_.num_documents();) {
      const float min = threshold_.value(begin);
      if (context_.none_above(begin, min)) return context_.stop_early(begin);
      const ScoreCut cut(min, addends_, context_.nothing());
      begin = pivot(begin, cut);
      if (begin >= windows_.num_documents()) return;
      docid_t end = windows_.num_documents();
      if (!context_.upper_bounds.empty())
        end = end_of_results(context_, begin, begin + std::min(short_wand_range, end - begin), min);
      begin = ranges.score(begin, end, {bounds_, static_score_bound_}, cut);
    }
  }

 private:
  /// A list that has no posting before a document.
  struct Later {
    docid_t docid = 0;
    float bound = 0;
  };

  /// The first document from `docid` on that can be a result; end_docid if there is none.
  docid_t pivot(docid_t docid, const ScoreCut& cut) {
    double bound = static_score_bound_;
    bool is_reached = false;  // whether a list is at `docid` or before
    later_.clear();
    for (std::size_t i = 0; i < lists_.size(); ++i) {
      const docid_t next = lists_[i].next_docid();
      if (next <= docid) {
        bound += bounds_[i];
        is_reached = true;
      } else if (next != end_docid) {
        later_.push_back({next, bounds_[i]});
      }
    }
    if (is_reached && cut.can_pass(bound)) return docid;
    std::sort(later_.begin(), later_.end(), [](const Later& a, const Later& b) { return a.docid < b.docid; });
    for (const Later& list : later_) {
      bound += list.bound;
      if (cut.can_pass(bound)) return list.docid;
    }
    return end_docid;
  }

  const ScoringContext& context_;
  Threshold threshold_;
  Windows windows_;  ///< as large as the largest range
  std::size_t addends_;
  float static_score_bound_ = 0;
  std::vector<ListWindow> lists_;  ///< in the order of summation
  std::vector<float> bounds_;      ///< upper bounds of their term scores
  std::vector<Later> later_;       ///< pivot()'s
};

}  // namespace

void run_wand(const ScoringContext& context, std::span<const WeightedList> lists, TopK& top) {
  Wand(context, lists, top).run(top);
}

}  // namespace quern
