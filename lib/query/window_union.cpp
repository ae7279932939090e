#include "quern/query/window_union.hpp"

#include <algorithm>

namespace quern {
namespace {

/// Five raise the threshold to nine tenths of its final value, for lists of at least 50,000 documents (learn-docs,
/// k = 10); more cost more than they save.
constexpr std::size_t probed_windows = 5;
/// In a small collection only a part of the windows is probed.
constexpr std::size_t windows_per_probe = 8;

}  // namespace

WindowUnion::WindowUnion(const ScoringContext& context, std::span<const WeightedList> lists, TopK& top)
    : context_(context),
      top_(top),
      threshold_(primed_threshold(context, lists, top.k()), top),
      rests_(lists.size() + 1),
      windows_(context.index->num_documents()),
      bounds_(windows_.count()),
      scores_(windows_, context.nothing()),
      candidates_(windows_.size()) {
  lists_.reserve(lists.size());
  for (const WeightedList& list : lists) lists_.emplace_back(context, list);
  for (const ListWindow& list : lists_) list.add_bounds(windows_, bounds_);
  if (!context.static_scores.empty()) bound_by_documents(lists.front().weight > 0);
}

void WindowUnion::bound_by_documents(bool weighted) {
  for (std::size_t window = 0; window < bounds_.size(); ++window) {
    if (weighted && bounds_[window] == 0) {
      bounds_[window] = context_.nothing();
      continue;
    }
    bounds_[window] += context_.static_score_bound(window);
    const docid_t begin = windows_.begin(window);
    if (!context_.upper_bounds.empty())
      bounds_[window] = std::min<double>(bounds_[window], context_.upper_bounds[begin]);
  }
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
  const std::size_t n = lists_.size();
  const ScoreCut cut(threshold_.value(begin), context_.addends(n), context_.nothing());
  if (!cut.can_pass(bounds_[window])) return;
  // rests_[i]: upper bound of what lists i and later can add in this window.
  rests_[n] = 0;
  for (std::size_t i = n; i-- > 0;) rests_[i] = rests_[i + 1] + lists_[i].bound(begin, end);
  const float static_score = context_.static_score_bound(window);
  if (!cut.can_pass(static_score + rests_[0])) return;
  std::size_t essential = n;
  while (!cut.can_pass(static_score + rests_[essential - 1])) --essential;
  const float min = cut.min_score(rests_[essential]);
  if (essential == 1 && context_.static_scores.empty()) {
    lists_[0].take_above(begin, end, min, candidates_);
  } else {
    for (std::size_t i = 0; i < essential; ++i) lists_[i].add_to(begin, end, scores_.data());
    scores_.take_above(min, begin, end, candidates_);
  }
  for (std::size_t i = essential; i < n && !candidates_.empty(); ++i)
    lists_[i].complete(candidates_, rests_[i + 1], cut);
  add_all(candidates_, top_);
}

}  // namespace quern
