#include "quern/search/scored_intersection.hpp"

#include <algorithm>
#include <numeric>

namespace quern {
namespace {

/// More units would make better bounds, and cost more.
constexpr std::size_t max_units = 1024;
/// Maximum number of units scored first, and the number of units for each of them.
constexpr std::size_t probed_units = 4, units_per_probe = 8;
/// Lists that most queries open: space is reserved for them.
constexpr std::size_t usually_open = 5;

}  // namespace

ScoredIntersection::ScoredIntersection(const ScoringContext& context, std::span<const WeightedList> lists, TopK& top)
    : context_(context),
      top_(top),
      threshold_(given_threshold(context), top),
      prunes_(!context.visits),
      all_lists_(lists),
      found_(max_looked_up) {
  lists_.reserve(std::min(usually_open, lists.size()));
  const std::size_t blocks = open(0).num_blocks();
  blocks_per_unit_ = (blocks + max_units - 1) / max_units;
  num_units_ = (blocks + blocks_per_unit_ - 1) / blocks_per_unit_;
}

IntersectedList& ScoredIntersection::open(std::size_t i) {
  while (lists_.size() <= i) lists_.emplace_back(context_, all_lists_[lists_.size()], lists_.empty());
  return lists_[i];
}

void ScoredIntersection::make_bounds(docid_t docid) {
  list_bounds_.reserve(all_lists_.size());
  bounds_.resize(all_lists_.size() + 1);
  for (std::size_t i = 0; i < all_lists_.size(); ++i) {
    const WeightedList& list = all_lists_[i];
    const ListScorer scorer(context_, list, i == 0 ? context_.static_scores : std::span<const float>());
    const float max = list.list.is_short() ? open(i).max_term_score() : scorer.long_list_bound(list.list);
    list_bounds_.emplace_back(list.list, scorer, max).restart(docid);
  }
}

docid_t ScoredIntersection::first_docid(std::size_t block) const {
  return block == 0 ? 0 : lists_[0].list().block_last[block - 1] + 1;
}

docid_t ScoredIntersection::last_docid(std::size_t first, std::size_t end) const {
  const docid_t last = lists_[0].last(end - 1);
  if (last < first_docid(first) || last >= context_.index->num_documents())
    lists_[0].fail(first, "its row's docID is out of range or not greater than the previous row's");
  return last;
}

double ScoredIntersection::bound_lists(docid_t begin, docid_t end) {
  double sum = bounds_.back() = context_.static_score_bound(begin, end);
  for (std::size_t i = 0; i < list_bounds_.size(); ++i) sum += bounds_[i] = list_bounds_[i].in(begin, end);
  return sum;
}

void ScoredIntersection::restart(docid_t docid) {
  for (IntersectedList& list : lists_) list.restart(docid);
  for (ListBounds& bounds : list_bounds_) bounds.restart(docid);
}

void ScoredIntersection::bound_units() {
  make_bounds(0);
  unit_bounds_.resize(num_units_);
  for (std::size_t unit = 0; unit < num_units_; ++unit) {
    const std::size_t block = unit * blocks_per_unit_;
    const docid_t begin = first_docid(block);
    unit_bounds_[unit] = bound_lists(begin, last_docid(block, std::min(block + blocks_per_unit_, num_blocks())) + 1);
    if (!context_.upper_bounds.empty())
      unit_bounds_[unit] = std::min<double>(unit_bounds_[unit], context_.upper_bounds[begin]);
  }
}

void ScoredIntersection::probe() {
  const std::size_t count = std::min(probed_units, num_units_ / units_per_probe);
  // With at most k documents there is never a threshold.
  if (count == 0 || all_lists_[0].list.df <= top_.k()) return;
  bound_units();
  for (std::size_t i = 0; i < count; ++i) {
    const auto best = std::max_element(unit_bounds_.begin(), unit_bounds_.end());
    if (*best <= context_.nothing()) return;
    const auto unit = static_cast<std::size_t>(best - unit_bounds_.begin());
    restart(first_docid(unit * blocks_per_unit_));
    score_unit(unit);
    *best = context_.nothing();
  }
}

void ScoredIntersection::finish() {
  restart(context_.first);
  for (std::size_t unit = lists_[0].blocks().block() / blocks_per_unit_; unit < num_units_; ++unit)
    if (!score_unit(unit)) return;
}

void ScoredIntersection::run() {
  if (prunes_) probe();
  finish();
}

bool ScoredIntersection::score_unit(std::size_t unit) {
  const std::size_t first = unit * blocks_per_unit_, end = std::min(first + blocks_per_unit_, num_blocks());
  if (prunes_) {
    const docid_t begin = first_docid(first);
    if (context_.none_above(begin, threshold_.value(begin))) {
      context_.stop_early(begin);
      return false;
    }
    if (!unit_bounds_.empty() &&
        (unit_bounds_[unit] <= context_.nothing() || !cut_from(begin).can_pass(unit_bounds_[unit])))
      return true;
  }
  for (std::size_t block = first; block < end; ++block)
    if (!score_block(block)) return false;
  return true;
}

bool ScoredIntersection::score_block(std::size_t block) {
  const docid_t begin = std::max(first_docid(block), context_.first), last = last_docid(block, block + 1);
  docid_t from = begin;
  // The next common document is not before the next posting of any list.
  if (prunes_)
    for (const IntersectedList& list : lists_) from = std::max(from, list.next_docid());
  if (from == end_docid) return false;
  if (context_.passing) from = context_.passing->next(from, last + 1);
  if (from > last) return true;
  has_threshold_ = prunes_ && threshold_.value(from) > context_.nothing();
  if (has_threshold_) {
    if (list_bounds_.empty()) make_bounds(from);
    if (!cut_from(from).can_pass(bound_lists(from, last + 1))) return true;
  }
  if (!lists_[0].blocks().move_to(from) || lists_[0].blocks().block() != block)
    lists_[0].fail(block, "its row's docID is not greater than the previous row's");
  const docid_t first = lists_[0].enter_block(from);
  if (context_.may_stop(block * context_.index->block_size()) && context_.none_above(first, threshold_.value(first))) {
    context_.stop_early(begin);
    return false;
  }
  intersect(from);
  score_found();
  return true;
}

void ScoredIntersection::intersect(docid_t from) {
  const ScoreCut cut = cut_from(from);
  docid_t* const docids = found_.docids();
  // With a threshold, the first term scores drop documents before they are looked up.
  const double rest = has_threshold_ ? std::accumulate(bounds_.begin() + 1, bounds_.end(), 0.0) : 0.0;
  const float min = has_threshold_ ? cut.min_score(rest) : context_.nothing();
  has_scores_ = min > context_.nothing();
  std::size_t count = has_scores_ ? lists_[0].take_block_above(from, min, {docids, first_scores_.data()})
                                  : lists_[0].take_block(from, docids);
  if (has_scores_ && context_.passing) count = keep_documents(*context_.passing, docids, first_scores_.data(), count);
  context_.visit(0, docids, count);
  for (std::size_t i = 1; i < all_lists_.size() && count > 0; ++i) {
    const float list_min = has_threshold_ ? cut.min_score(rest + bounds_[0] - bounds_[i]) : context_.nothing();
    count = open(i).keep_found(docids, count, list_min);
    context_.visit(i, docids, count);
  }
  found_.resize(count);
}

void ScoredIntersection::score_found() {
  const std::size_t count = found_.size();
  if (count == 0) return;
  std::iota(numbers_.begin(), numbers_.begin() + static_cast<std::ptrdiff_t>(count), 0);
  for (std::size_t i = lists_.size(); i-- > 1;) lists_[i].choose({numbers_.data(), count});
  const docid_t* const docids = found_.docids();
  float* const scores = found_.scores();
  if (has_scores_) {
    for (std::size_t i = 0; i < count; ++i) scores[i] = first_scores_[numbers_[i]];
  } else {
    lists_[0].choose({numbers_.data(), count});
    std::fill_n(scores, count, 0.0f);
    lists_[0].add_term_scores(docids, count, scores);
  }
  for (std::size_t i = 1; i < lists_.size(); ++i) lists_[i].add_term_scores(docids, count, scores);
  add_all(found_, top_);
}

}  // namespace quern
