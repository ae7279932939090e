#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace quern::gpu {

/// Which parts of an arena are free. Counts elements; knows nothing of memory.
class Extents {
 public:
  explicit Extents(std::uint64_t size) { add_free(0, size); }

  /// Takes `count` elements that follow each other, at least one, from the smallest free part that has them; returns
  /// the first one's place. Nothing if no part does.
  std::optional<std::uint64_t> take(std::uint64_t count);
  /// Gives back what was taken.
  void give_back(std::uint64_t first, std::uint64_t count);
  std::uint64_t free() const { return free_; }
  /// Elements of the largest free part.
  std::uint64_t largest() const { return by_size_.empty() ? 0 : by_size_.rbegin()->first; }

 private:
  void add_free(std::uint64_t first, std::uint64_t count);
  void remove_free(std::uint64_t first, std::uint64_t count);

  std::map<std::uint64_t, std::uint64_t> by_place_;            ///< place and size of each free part
  std::set<std::pair<std::uint64_t, std::uint64_t>> by_size_;  ///< size and place of each
  std::uint64_t free_ = 0;
};

}  // namespace quern::gpu
