#pragma once
#include <algorithm>
#include <functional>
#include <span>
#include <vector>

#include "quern/formats/index_file.hpp"

namespace quern {

/// Keeps the greatest impacts of a list, as many as the largest stored rank asks for.
class TopImpacts {
 public:
  void clear() {
    kept_.clear();
    threshold_ = 0;
  }
  void add(float impact) { add({&impact, 1}, impact); }
  /// `max_impact` is the greatest of the impacts: it shows that most blocks of a long list have none to keep.
  void add(std::span<const float> impacts, float max_impact) {
    if (max_impact <= threshold_) return;
    for (const float impact : impacts)
      if (impact > threshold_) kept_.push_back(impact);
    if (kept_.size() >= 4 * max_kept) prune();
  }
  /// The greatest impacts of another part of the list.
  void add(const TopImpacts& part) {
    if (!part.kept_.empty()) add(part.kept_, *std::max_element(part.kept_.begin(), part.kept_.end()));
  }
  /// The impacts at stored_ranks; 0 for ranks beyond the list.
  std::array<float, 4> at_ranks() {
    std::array<float, 4> impacts = {};
    auto end = kept_.end();
    for (std::size_t i = stored_ranks.size(); i-- > 0;) {
      if (kept_.size() < stored_ranks[i]) continue;
      const auto place = kept_.begin() + stored_ranks[i] - 1;
      std::nth_element(kept_.begin(), place, end, std::greater<>());
      impacts[i] = *place;
      end = place;
      if (place == kept_.begin()) break;
    }
    return impacts;
  }

 private:
  static constexpr std::size_t max_kept = stored_ranks.back();

  void prune() {
    std::nth_element(kept_.begin(), kept_.begin() + max_kept - 1, kept_.end(), std::greater<>());
    kept_.resize(max_kept);
    threshold_ = kept_.back();
  }

  std::vector<float> kept_;
  float threshold_ = 0;  ///< impacts up to this one are not kept
};

}  // namespace quern
