#pragma once
#include <cstdint>

#include "quern/rank/models/tree_program.hpp"

namespace quern {

/// A value's rank in a column, minus rank_bias.
inline std::int8_t rank_of(const RankColumn& column, const float* table, float value) {
  if (value != value) return column.missing;
  std::uint32_t place = 1;
  for (std::uint32_t level = 0; level < column.levels; ++level) place = 2 * place + (value > table[place] ? 1 : 0);
  return static_cast<std::int8_t>(static_cast<int>(place - (1u << column.levels)) - rank_bias);
}

}  // namespace quern
