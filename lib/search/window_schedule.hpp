#pragma once
#include "quern/search/list_window.hpp"
#include "quern/search/scoring.hpp"

namespace quern {

/// Which windows a union with a budget scores, and in which order. What is left out are always those with the lowest
/// upper bounds, ties by docID: by falling bound as long as there is time or, if only a share of them is left out, in
/// docID order after the best few, since lists are read fastest that way.
class WindowSchedule {
 public:
  /// `bounds`: of the scores in each window; ScoringContext::nothing() if it has none. Scores are sums over `lists`
  /// lists. All arguments must outlive the object.
  WindowSchedule(const ScoringContext& context, const Windows& windows, std::span<const double> bounds,
                 std::size_t lists, const Threshold& threshold);

  /// The next window to score, at least one. None if no other can contain a result, or the budget is spent; the
  /// statistics then have the upper bound of what is left out.
  std::optional<std::size_t> next();
  /// Whether the window that next() returned comes before the previous one, so that lists must go back.
  bool goes_back() const { return goes_back_; }

 private:
  /// Moves the best windows of those from `begin` on there, `count` of them, sorted.
  void sort(std::size_t begin, std::size_t count);
  bool can_pass(std::size_t window) const;
  bool is_late() const;
  /// Records that a window, and those with lower bounds, are left out.
  void leave_out(std::size_t window) const;

  const ScoringContext& context_;
  const Windows& windows_;
  std::span<const double> bounds_;
  const Threshold& threshold_;
  std::size_t addends_;                ///< whose sum may be rounded
  std::vector<std::uint32_t> chosen_;  ///< windows to score
  std::size_t next_ = 0;               ///< in chosen_
  std::size_t sorted_ = 0;             ///< chosen_ has its order up to here
  std::uint32_t current_ = 0;          ///< the window that next() returned
  bool goes_back_ = false;
  std::optional<std::uint32_t> best_left_;  ///< of those that are not chosen
};

}  // namespace quern
