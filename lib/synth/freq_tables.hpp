#pragma once
#include <array>
#include <cstdint>

#include "quern/core/types.hpp"

namespace quern {

/// Geometric frequencies, P(f ≥ k) = q^(k - 1), at levels from a mean of 1.04 to one of 101. Heavy tails come from what
/// chooses the level.
class FreqTables {
 public:
  static constexpr int levels = 37;
  FreqTables();

  /// `bits`: 14 random ones. Level 0 has the smallest frequencies.
  freq_t draw(int level, std::uint32_t bits) const {
    const auto& table = tables_[static_cast<std::size_t>(level)];
    const freq_t freq = table[bits & (entries - 1)];
    if ((bits & (entries - 1)) != 0) [[likely]]
      return freq;
    // Beyond its last part the tail looks like the whole.
    return freq + table[(bits / entries) & (entries - 1)];
  }

 private:
  static constexpr std::uint32_t entries = 128;
  std::array<std::array<std::uint8_t, entries>, levels> tables_;
};

}  // namespace quern
