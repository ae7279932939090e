#include "quern/search/window_schedule.hpp"

#include <cmath>

namespace quern {
namespace {

/// Windows that are scored before the others, to raise the threshold.
constexpr std::size_t first_windows = 5;
/// Windows that are sorted at a time, since few may be scored.
constexpr std::size_t sorted_windows = 64;

/// Whether a window comes before another.
auto better(std::span<const double> bounds) {
  return [bounds](std::uint32_t a, std::uint32_t b) { return bounds[a] != bounds[b] ? bounds[a] > bounds[b] : a < b; };
}

/// A float that is not below.
float rounded_up(double value) {
  const auto rounded = static_cast<float>(value);
  return rounded < value ? std::nextafter(rounded, std::numeric_limits<float>::infinity()) : rounded;
}

}  // namespace

WindowSchedule::WindowSchedule(const ScoringContext& context, const Windows& windows, std::span<const double> bounds,
                               std::size_t lists, const Threshold& threshold)
    : context_(context),
      windows_(windows),
      bounds_(bounds),
      threshold_(threshold),
      // Sums of integers are exact.
      addends_(context.quantizer ? 0 : context.addends(lists)) {
  for (std::uint32_t window = 0; window < bounds.size(); ++window)
    if (bounds[window] > context.nothing() && can_pass(window)) chosen_.push_back(window);
  if (chosen_.empty()) return;
  const double share = context.budget->blocks_left_out.value_or(0) / 100;
  const auto left_out = static_cast<std::size_t>(share * static_cast<double>(chosen_.size()));
  const auto end = chosen_.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(1, chosen_.size() - left_out));
  if (end != chosen_.end()) {
    std::nth_element(chosen_.begin(), end, chosen_.end(), better(bounds));
    best_left_ = *end;
    chosen_.erase(end, chosen_.end());
  }
  if (context.budget->time_us) return;
  sort(0, first_windows);
  std::sort(chosen_.begin() + static_cast<std::ptrdiff_t>(sorted_), chosen_.end());
  sorted_ = chosen_.size();
}

void WindowSchedule::sort(std::size_t begin, std::size_t count) {
  sorted_ = std::min(begin + count, chosen_.size());
  const auto at = [&](std::size_t i) { return chosen_.begin() + static_cast<std::ptrdiff_t>(i); };
  std::partial_sort(at(begin), at(sorted_), chosen_.end(), better(bounds_));
}

bool WindowSchedule::can_pass(std::size_t window) const {
  return ScoreCut(threshold_.value(windows_.begin(window)), addends_, context_.nothing()).can_pass(bounds_[window]);
}

bool WindowSchedule::is_late() const {
  const auto& time_us = context_.budget->time_us;
  return time_us && next_ > 0 && us_since(context_.begun) >= *time_us;
}

void WindowSchedule::leave_out(std::size_t window) const {
  if (can_pass(window)) context_.statistics->bound_left = rounded_up(with_slack(bounds_[window], addends_));
}

std::optional<std::size_t> WindowSchedule::next() {
  for (; next_ < chosen_.size(); ++next_) {
    if (next_ == sorted_) sort(next_, sorted_windows);
    if (can_pass(chosen_[next_])) break;
  }
  if (next_ < chosen_.size() && !is_late()) {
    const std::uint32_t before = std::exchange(current_, chosen_[next_++]);
    goes_back_ = current_ < before;
    return current_;
  }
  // The best of those left: if it can't pass, no other can, which have lower bounds or lose ties.
  if (next_ < chosen_.size())
    leave_out(chosen_[next_]);
  else if (best_left_)
    leave_out(*best_left_);
  return std::nullopt;
}

}  // namespace quern
