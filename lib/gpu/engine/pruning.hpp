#pragma once
#include <cstdint>

namespace quern::gpu {

/// How much of a union's lists is looked at.
enum class Pruning : std::uint8_t {
  none,    ///< all postings
  lists,   ///< what the bounds of whole lists leave (WAND)
  blocks,  ///< what the bounds of ranges and blocks leave (block-max WAND)
};

}  // namespace quern::gpu
