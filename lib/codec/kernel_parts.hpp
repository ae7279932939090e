#pragma once
#include <array>
#include <cstdint>
#include <cstring>

#include "quern/codec/high_parts.hpp"

/// What the kernels of all SIMD levels share.
namespace quern {

/// The bits from `bit` on, at least 57 of them.
inline std::uint64_t bits_from(const std::uint32_t* words, std::uint64_t bit) {
  std::uint64_t window;
  std::memcpy(&window, reinterpret_cast<const char*>(words) + bit / 8, sizeof window);
  return window >> bit % 8;
}

/// The bits of the mask for the 32 values from i on.
inline std::uint32_t mask_of_32(const HighParts::Array& array, unsigned i) {
  std::uint32_t mask;
  std::memcpy(&mask, array.mask + i / 8, sizeof mask);
  return mask;
}

/// Room for the high parts of each array, with what a register may read or write behind them.
using HighBuffers = std::array<std::array<std::uint16_t, max_block_size + 32>, HighParts::max_arrays>;

}  // namespace quern
