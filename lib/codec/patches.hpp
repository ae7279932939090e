#pragma once
#include <cstdint>

namespace quern {

/// What is to be added, to the low part in its slot, where an exception has this high part less one.
constexpr std::uint32_t patch_of(std::uint32_t high, unsigned width) {
  return static_cast<std::uint32_t>((std::uint64_t{high} + 1) << width);
}

}  // namespace quern
