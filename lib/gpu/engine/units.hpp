#pragma once
#include <cstdint>

/// Entries: a posting's docID within its range in the upper 16 bits, its value in the lower ones; and their units. What
/// is constexpr runs on host and device alike.
namespace quern::gpu {

/// Units of an entry's value, as BatchTerm has weight and more.
constexpr std::uint32_t units_of(std::uint32_t entry, std::uint32_t weight, std::uint32_t more) {
  return static_cast<std::uint32_t>(std::uint64_t{entry << 16} * weight >> 32) + more;
}

/// Units of a score or of a part of one, rounded up; `scale` is the query's.
constexpr std::uint32_t units_of_score(float scale, float score) {
  const float exact = score * scale * (1 + 0x1p-20f);
  const auto units = static_cast<std::uint32_t>(exact);
  return units + (static_cast<float>(units) < exact);
}

}  // namespace quern::gpu
