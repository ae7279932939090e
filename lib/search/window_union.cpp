#include "quern/search/window_union.hpp"

#include <algorithm>

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
/// Maximum number of windows: their upper bounds take 8 bytes each.
constexpr std::uint64_t max_windows = 8192;

Windows cut(const ScoringContext& context, std::span<const WeightedList> lists) {
  const docid_t documents = context.index->num_documents();
  double postings = 0;
  for (const WeightedList& list : lists) postings += static_cast<double>(list.list.df);
  const double size = window_postings * static_cast<double>(lists.size()) * documents / postings;
  return Windows(documents,
                 std::max<std::uint64_t>(documents / max_windows,
                                         static_cast<std::uint64_t>(std::min<double>(size, Windows::max_size))));
}

std::vector<ListWindow> open_lists(const ScoringContext& context, std::span<const WeightedList> lists) {
  std::vector<ListWindow> opened;
  opened.reserve(lists.size());
  for (const WeightedList& list : lists) opened.emplace_back(context, list);
  return opened;
}

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

void WindowUnion::score(std::size_t window) {
  const docid_t begin = windows_.begin(window), end = windows_.end(window);
  const ScoreCut cut(threshold_.value(begin), context_.addends(lists_.size()), context_.nothing());
  if (!cut.can_pass(bounds_[window])) return;
  for (std::size_t i = 0; i < lists_.size(); ++i) list_bounds_[i] = lists_[i].bound(begin, end);
  const RangeBounds bounds{list_bounds_, context_.static_score_bound(begin, end)};
  for (docid_t docid = begin; docid < end;) docid = ranges_.score(docid, end, bounds, cut);
}

}  // namespace quern
