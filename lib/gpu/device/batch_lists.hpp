#pragma once
#include <cstdint>
#include <span>
#include <utility>

#include "quern/gpu/device/index_view.hpp"

namespace quern::gpu {

/// The lists of a batch: their views, and for each coded one that is to be brought its number among them and the list
/// itself.
struct BatchLists {
  std::span<const ListView> views;
  std::span<const std::pair<std::uint32_t, const PostingList*>> coded;
};

}  // namespace quern::gpu
