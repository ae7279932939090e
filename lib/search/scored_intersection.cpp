#include "quern/search/scored_intersection.hpp"

#include <numeric>

namespace quern {

IntersectedList::IntersectedList(const ScoringContext& context, const WeightedList& list, bool first, bool cuts_rows)
    : blocks_(context, list.list),
      scorer_(context, list, first ? context.static_scores : std::span<const float>()),
      kernels_(query_kernels()),
      statistics_(context.statistics),
      passing_(context.passing) {
  if (cuts_rows) buckets_ = std::make_unique<RowBuckets>(list.list.block_last, context.index->num_documents());
}

docid_t IntersectedList::enter_block(docid_t docid) {
  blocks_.enter();
  const auto docids = blocks_.reader().docids();
  return docids[search_block(docids, 0, docid)];
}

void IntersectedList::end_run(std::size_t end, std::size_t block) {
  found_->run_ends[runs_] = static_cast<std::uint16_t>(end);
  found_->run_blocks[runs_++] = static_cast<std::uint32_t>(block);
}

std::size_t IntersectedList::take_block(docid_t docid, docid_t* docids) {
  const auto block_docids = blocks_.reader().docids();
  std::size_t count = 0;
  for (std::size_t place = search_block(block_docids, 0, docid); place < block_docids.size(); ++place) {
    docids[count] = block_docids[place];
    found_->postings[count] = {static_cast<std::uint16_t>(count), static_cast<std::uint16_t>(place)};
    count += !passing_ || passing_->contains(block_docids[place]);
  }
  runs_ = 0;
  end_run(count, blocks_.block());
  return count;
}

std::size_t IntersectedList::take_block_above(docid_t docid, float min, ScoredArrays taken) {
  std::array<float, max_block_size + over_write_values> terms;
  scorer_.term_scores(blocks_.reader(), terms.data());
  statistics_->postings_scored += blocks_.reader().size();
  const auto block_docids = blocks_.reader().docids();
  const std::size_t skipped = search_block(block_docids, 0, docid);
  return kernels_.keep_above(block_docids.data() + skipped, terms.data() + skipped, block_docids.size() - skipped, min,
                             taken);
}

static_assert(max_looked_up <= max_wanted);

std::size_t IntersectedList::keep_found(docid_t* docids, std::size_t count, float min) {
  const bool has_rows = num_blocks() > 1;
  std::size_t kept = 0;
  runs_ = 0;
  for (std::size_t i = 0; i < count && blocks_.move_to(docids[i], buckets_.get());) {
    const std::size_t end = i + kernels_.count_up_to(docids + i, count - i, blocks_.last());
    if (!has_rows || scorer_.block_bound(list(), blocks_.block()) > min) {
      blocks_.enter();
      FoundPosting* const found = found_->postings.data() + kept;
      const std::size_t hits = kernels_.find(docids, i, end, blocks_.docids(), found);
      for (std::size_t hit = 0; hit < hits; ++hit) docids[kept + hit] = docids[found[hit].document];
      kept += hits;
      if (hits > 0) end_run(kept, blocks_.block());
    }
    i = end;
  }
  return kept;
}

void IntersectedList::choose(std::span<std::uint16_t> numbers) {
  std::size_t i = 0;
  for (std::size_t run = 0; run < runs_; ++run) {
    for (; i < numbers.size() && numbers[i] < found_->run_ends[run]; ++i) {
      found_->postings[i] = found_->postings[numbers[i]];
      numbers[i] = found_->postings[i].document;
    }
    found_->run_ends[run] = static_cast<std::uint16_t>(i);
  }
}

void IntersectedList::add_term_scores(const docid_t* docids, std::size_t count, float* scores) {
  std::array<float, max_wanted + kernel_slack> terms;
  std::array<std::uint16_t, max_wanted> places;
  for (std::size_t run = 0, i = 0; run < runs_; ++run) {
    const std::size_t size = found_->run_ends[run] - i;
    if (size == 0) continue;
    for (std::size_t j = 0; j < size; ++j) places[j] = found_->postings[i + j].place;
    scorer_.term_scores_at(blocks_.reader(), found_->run_blocks[run], docids + i, {places.data(), size}, terms.data());
    for (std::size_t j = 0; j < size; ++j) scores[i + j] += terms[j];
    i += size;
  }
  statistics_->postings_scored += count;
}

namespace {

/// More units would make better bounds, and cost more.
constexpr std::size_t max_units = 1024;
/// Maximum number of units scored first, and the number of units for each of them.
constexpr std::size_t probed_units = 4, units_per_probe = 8;
/// Lists that most queries open: space is reserved for them.
constexpr std::size_t usually_open = 5;

}  // namespace

ScoredIntersection::ScoredIntersection(const ScoringContext& context, std::span<const WeightedList> lists, TopK& top,
                                       bool cuts_rows)
    : context_(context),
      top_(top),
      threshold_(given_threshold(context), top),
      cuts_rows_(cuts_rows),
      prunes_(!context.visits),
      all_lists_(lists),
      found_(max_looked_up) {
  lists_.reserve(std::min(usually_open, lists.size()));
  const std::size_t blocks = open(0).num_blocks();
  blocks_per_unit_ = (blocks + max_units - 1) / max_units;
  num_units_ = (blocks + blocks_per_unit_ - 1) / blocks_per_unit_;
}

IntersectedList& ScoredIntersection::open(std::size_t i) {
  while (lists_.size() <= i)
    lists_.emplace_back(context_, all_lists_[lists_.size()], lists_.empty(), cuts_rows_ && !lists_.empty());
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
