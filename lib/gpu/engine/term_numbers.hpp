#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "quern/core/types.hpp"

namespace quern::gpu {

/// Numbers terms in the order in which they come first. A table without a node a term: all queries of a batch wait for
/// it.
class TermNumbers {
 public:
  /// The term's number, and whether it has just got it.
  std::pair<std::uint32_t, bool> of(term_t term) {
    if (2 * count_ >= slots_.size()) grow();
    Slot& slot = slot_of(term);
    if (slot.number != none) return {slot.number, false};
    slot = {term, count_};
    return {count_++, true};
  }

 private:
  static constexpr std::uint32_t none = 0xffffffff;
  struct Slot {
    term_t term = 0;
    std::uint32_t number = none;
  };

  /// The term's slot, or the empty one that it would get.
  Slot& slot_of(term_t term) {
    const std::size_t mask = slots_.size() - 1;
    std::size_t place = (term * 0x9e3779b97f4a7c15) >> 32 & mask;
    while (slots_[place].number != none && slots_[place].term != term) place = (place + 1) & mask;
    return slots_[place];
  }
  void grow() {
    std::vector<Slot> old(std::max<std::size_t>(64, 4 * slots_.size()));
    old.swap(slots_);
    for (const Slot& slot : old)
      if (slot.number != none) slot_of(slot.term) = slot;
  }

  std::vector<Slot> slots_;  ///< a power of two of them, or none
  std::uint32_t count_ = 0;
};

}  // namespace quern::gpu
