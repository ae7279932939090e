#include "quern/search/range_union.hpp"

#include "quern/search/window_schedule.hpp"

namespace quern {
namespace {

/// Five raise the threshold to nine tenths of its final value, for lists of at least 50,000 documents (learn-docs, k =
/// 10); more cost more than they save.
constexpr std::size_t probed_windows = 5;
/// Small collections have one probe per this many windows.
constexpr std::size_t windows_per_probe = 8;

/// Mean postings of a list per window. Values from 128 to 400 did equally well, on 32,000 to 2.5 million documents and
/// queries of 2 to 64 terms.
constexpr double window_postings = 256;

Windows cut(const ScoringContext& context, std::span<const WeightedList> lists) {
  const docid_t documents = context.index->num_documents();
  double postings = 0;
  for (const WeightedList& list : lists) postings += static_cast<double>(list.list.df);
  const double size = window_postings * static_cast<double>(lists.size()) * documents / postings;
  return Windows(documents,
                 std::max<std::uint64_t>(documents / Windows::max_count,
                                         static_cast<std::uint64_t>(std::min<double>(size, Windows::max_size))));
}

std::vector<ListWindow> open_lists(const ScoringContext& context, std::span<const WeightedList> lists) {
  std::vector<ListWindow> opened;
  opened.reserve(lists.size());
  for (const WeightedList& list : lists) opened.emplace_back(context, list);
  return opened;
}

/// Postings are few if few_postings of them span at least this multiple of the usual range.
constexpr docid_t min_stretch = 2;
/// Adding up this many postings costs as much as looking up one document (1 and 3.5 ns, Zen 4).
constexpr double postings_per_look_up = 3;

}  // namespace

WindowUnion::WindowUnion(const ScoringContext& context, std::span<const WeightedList> lists, TopK& top)
    : context_(context),
      threshold_(primed_threshold(context, lists, top.k()), top),
      lists_(open_lists(context, lists)),
      list_bounds_(lists.size()),
      windows_(cut(context, lists)),
      bounds_(windows_.count()),
      ranges_(context, lists_, windows_, windows_.size(), top) {
  for (const ListWindow& list : lists_) list.add_bounds(windows_, bounds_);
  if (!context.static_scores.empty()) bound_by_documents(lists.front().weight > 0);
  if (context.passing) leave_out_windows();
}

void WindowUnion::bound_by_documents(bool weighted) {
  for (std::size_t window = 0; window < bounds_.size(); ++window) {
    if (weighted && bounds_[window] == 0) {
      bounds_[window] = context_.nothing();
      continue;
    }
    const docid_t begin = windows_.begin(window);
    bounds_[window] += context_.static_score_bound(begin, windows_.end(window));
    if (!context_.upper_bounds.empty())
      bounds_[window] = std::min<double>(bounds_[window], context_.upper_bounds[begin]);
  }
}

void WindowUnion::leave_out_windows() {
  for (std::size_t window = 0; window < bounds_.size(); ++window)
    if (!context_.some_pass(windows_.begin(window), windows_.end(window))) bounds_[window] = context_.nothing();
}

void WindowUnion::probe() {
  if (lists_.size() == 1) return;
  const std::size_t count = std::min(probed_windows, bounds_.size() / windows_per_probe);
  for (std::size_t i = 0; i < count; ++i) {
    const auto best = std::max_element(bounds_.begin(), bounds_.end());
    if (*best <= context_.nothing()) return;
    const auto window = static_cast<std::size_t>(best - bounds_.begin());
    for (ListWindow& list : lists_) list.restart(windows_.begin(window));
    score(window);
    *best = context_.nothing();
  }
}

void WindowUnion::finish() {
  for (ListWindow& list : lists_) list.restart(0);
  for (std::size_t window = 0; window < bounds_.size(); ++window) {
    const docid_t begin = windows_.begin(window);
    if (context_.none_above(begin, threshold_.value(begin))) return context_.stop_early(begin);
    if (bounds_[window] > context_.nothing()) score(window);
  }
}

void WindowUnion::finish_within_budget() {
  WindowSchedule schedule(context_, windows_, bounds_, lists_.size(), threshold_);
  while (const auto window = schedule.next()) {
    if (schedule.goes_back())
      for (ListWindow& list : lists_) list.restart(windows_.begin(*window));
    score(*window);
  }
}

void WindowUnion::score(std::size_t window) {
  const docid_t begin = windows_.begin(window), end = windows_.end(window);
  const ScoreCut cut(threshold_.value(begin), context_.addends(lists_.size()), context_.nothing());
  if (!cut.can_pass(bounds_[window])) return;
  for (std::size_t i = 0; i < lists_.size(); ++i) list_bounds_[i] = lists_[i].bound(begin, end);
  const RangeBounds bounds{list_bounds_, context_.static_score_bound(begin, end)};
  for (docid_t docid = begin; docid < end;) docid = ranges_.score(docid, end, bounds, cut);
}

docid_t end_of_results(const ScoringContext& context, docid_t begin, docid_t end, float score) {
  if (end > context.upper_bounds.size()) return end;
  const auto bounds = context.upper_bounds.subspan(begin, end - begin);
  const auto stop = std::partition_point(bounds.begin(), bounds.end(), [&](float bound) { return bound > score; });
  return begin + static_cast<docid_t>(stop - bounds.begin());
}

RangeUnion::RangeUnion(const ScoringContext& context, std::span<ListWindow> lists, const Windows& windows,
                       docid_t first_size, TopK& top)
    : context_(context),
      lists_(lists),
      top_(top),
      size_(first_size),
      max_size_(windows.size()),
      in_range_(lists.size()),
      rests_(lists.size() + 1),
      scores_(windows, context.nothing()),
      candidates_(std::max<std::size_t>(windows.size(), few_postings)),
      list_(few_postings) {
  for (const ListWindow& list : lists)
    densities_.push_back(static_cast<double>(list.postings()) / context.index->num_documents());
}

bool RangeUnion::find_lists(docid_t end, const RangeBounds& bounds, const ScoreCut& cut) {
  // Backwards, so that each list's rest is known.
  first_ = lists_.size();
  rests_.back() = 0;
  for (std::size_t i = lists_.size(); i-- > 0;) {
    if (lists_[i].next_docid() >= end) continue;
    --first_;
    in_range_[first_] = &lists_[i];
    rests_[first_] = rests_[first_ + 1] + bounds.term_scores[i];
  }
  if (first_ == lists_.size() || !cut.can_pass(bounds.static_score + rests_[first_])) return false;
  essential_ = lists_.size();
  while (!cut.can_pass(bounds.static_score + rests_[essential_ - 1])) --essential_;
  summed_ = essential_;
  while (summed_ < lists_.size() && in_range_[summed_] < lists_.data() + added_) ++summed_;
  return true;
}

docid_t RangeUnion::end_of_few(docid_t begin) const {
  const auto lists = summed_lists();
  docid_t end = end_docid;
  for (const ListWindow* list : lists) end = std::min(end, list->end_of_postings(begin, few_postings / lists.size()));
  return end;
}

void RangeUnion::add_up(docid_t begin, docid_t end, float min) {
  for (ListWindow* list : summed_lists()) list->add_to(begin, end, scores_.data());
  scores_.take_above(min, begin, end, candidates_);
}

void RangeUnion::merge(docid_t begin, docid_t end, float min) {
  merged_[0].size = 0;
  std::size_t in = 0;
  for (ListWindow* list : summed_lists()) {
    list->take_above(begin, end, -1.0f, list_);
    merge_list(merged_[in], merged_[1 - in]);
    in = 1 - in;
  }
  const Merged& all = merged_[in];
  candidates_.resize(
      query_kernels().keep_above(all.docids.data(), all.scores.data(), all.size, min, candidates_.from(0)));
}

bool RangeUnion::few_pass(docid_t begin, docid_t end) const {
  if (!context_.passing || !context_.static_scores.empty()) return false;
  double density = 0;
  for (const ListWindow* list : summed_lists()) density += densities_[static_cast<std::size_t>(list - lists_.data())];
  const std::uint64_t passing = context_.passing->count(begin, end);
  const double look_ups = static_cast<double>(passing * summed_lists().size());
  return passing <= few_postings && postings_per_look_up * look_ups < density * (end - begin);
}

void RangeUnion::look_up_passing(docid_t begin, docid_t end, float min) {
  std::size_t count = 0;
  for (docid_t docid = begin; (docid = context_.passing->next(docid, end)) < end; ++docid) {
    candidates_.docids()[count] = docid;
    candidates_.scores()[count++] = context_.nothing();
  }
  candidates_.resize(count);
  for (ListWindow* list : summed_lists()) list->add_to(candidates_);
  candidates_.resize(
      query_kernels().keep_above(candidates_.docids(), candidates_.scores(), count, min, candidates_.from(0)));
}

void RangeUnion::merge_list(Merged& merged, Merged& both) {
  const std::span<const float> static_scores = context_.static_scores;
  const docid_t* const docids = list_.docids();
  merged.docids[merged.size] = list_.docids()[list_.size()] = end_docid;
  std::size_t i = 0, j = 0, n = 0;
  for (docid_t docid; (docid = std::min(merged.docids[i], docids[j])) != end_docid; ++n) {
    const bool in_merged = merged.docids[i] == docid, in_list = docids[j] == docid;
    const float before = in_merged ? merged.scores[i] : static_scores.empty() ? 0.0f : static_scores[docid];
    both.docids[n] = docid;
    both.scores[n] = in_list ? before + list_.scores()[j] : before;
    i += in_merged;
    j += in_list;
  }
  both.size = n;
}

docid_t RangeUnion::score(docid_t begin, docid_t end, const RangeBounds& bounds, const ScoreCut& cut) {
  if (context_.passing) begin = context_.passing->next(begin, end);
  if (begin >= end || !find_lists(end, bounds, cut)) return end;
  const docid_t end_of_few_postings = end_of_few(begin);
  const bool few = end_of_few_postings - begin >= min_stretch * max_size_;
  const docid_t stop = few ? std::min(end, end_of_few_postings) : begin + std::min(size_, end - begin);
  if (!few) size_ = std::min(2 * size_, max_size_);
  // Some of the lists may begin after `stop`.
  if (stop < end && !find_lists(stop, bounds, cut)) return stop;
  const float min = cut.min_score(rests_[summed_]);
  if (few_pass(begin, stop))
    look_up_passing(begin, stop, min);
  else if (summed_lists().size() == 1 && context_.static_scores.empty())
    summed_lists()[0]->take_above(begin, stop, min, candidates_);
  else if (few)
    merge(begin, stop, min);
  else
    add_up(begin, stop, min);
  candidates_.keep(context_.passing);
  complete(stop - begin, cut);
  add_all(candidates_, top_);
  return stop;
}

void RangeUnion::complete(docid_t size, const ScoreCut& cut) {
  // The next range adds up the lists that would have been cheaper to add up in this one, and one list less if its last
  // was not.
  std::size_t worth = summed_;
  if (summed_ > essential_ && !adds_up(summed_ - 1, size, 2 * candidates_.size())) --worth;
  for (std::size_t i = summed_; i < lists_.size() && !candidates_.empty(); ++i) {
    if (worth == i && adds_up(i, size, candidates_.size())) ++worth;
    in_range_[i]->complete(candidates_, rests_[i + 1], cut);
  }
  added_ = worth == first_ ? 0 : static_cast<std::size_t>(in_range_[worth - 1] - lists_.data()) + 1;
}

bool RangeUnion::adds_up(std::size_t i, docid_t size, std::size_t candidates) const {
  const double density = densities_[static_cast<std::size_t>(in_range_[i] - lists_.data())];
  return density * size < postings_per_look_up * static_cast<double>(candidates);
}

}  // namespace quern
