#pragma once
#include <algorithm>
#include <span>
#include <vector>

#include "quern/formats/index_file.hpp"

namespace quern {

/// Moves the `count` greatest values to the front, the least of them last.
void put_greatest_first(std::span<float> values, std::size_t count);

/// Keeps the greatest impacts of a list, up to the largest stored rank.
class TopImpacts {
 public:
  void clear() {
    kept_.clear();
    threshold_ = 0;
  }
  void add(float impact) { add({&impact, 1}, impact); }
  /// `max_impact` is the greatest of the impacts: it allows skipping most blocks of a long list.
  void add(std::span<const float> impacts, float max_impact) {
    if (max_impact <= threshold_) return;
    const std::size_t before = kept_.size();
    kept_.resize(before + impacts.size());
    // Branch-free: which ones are kept is unpredictable.
    float* to = kept_.data() + before;
    for (const float impact : impacts) {
      *to = impact;
      to += impact > threshold_ ? 1 : 0;
    }
    kept_.resize(static_cast<std::size_t>(to - kept_.data()));
    if (kept_.size() >= 4 * max_kept) prune();
  }
  /// Adds the greatest impacts of another part of the list.
  void add(const TopImpacts& part) {
    if (!part.kept_.empty()) add(part.kept_, *std::max_element(part.kept_.begin(), part.kept_.end()));
  }
  /// The impacts at stored_ranks; 0 for ranks beyond the list.
  std::array<float, 4> at_ranks() {
    std::array<float, 4> impacts = {};
    std::span<float> unsorted = kept_;
    for (std::size_t i = stored_ranks.size(); i-- > 0;) {
      const std::size_t rank = stored_ranks[i];
      if (kept_.size() < rank) continue;
      put_greatest_first(unsorted, rank);
      impacts[i] = kept_[rank - 1];
      unsorted = unsorted.first(rank - 1);
      if (unsorted.empty()) break;
    }
    return impacts;
  }

 private:
  static constexpr std::size_t max_kept = stored_ranks.back();

  void prune() {
    put_greatest_first(kept_, max_kept);
    kept_.resize(max_kept);
    threshold_ = kept_.back();
  }

  std::vector<float> kept_;
  float threshold_ = 0;  ///< impacts up to this one are dropped
};

}  // namespace quern
