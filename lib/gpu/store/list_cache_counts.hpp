#pragma once
#include <cstdint>

#include "quern/gpu/device/add_members.hpp"

namespace quern::gpu {

/// What batches asked for, and what had to be copied. Bytes are of words, impacts and block rows. Lists that are read
/// in place are counted apart.
struct ListCacheCounts {
  std::uint64_t lists = 0, resident_lists = 0;
  std::uint64_t bytes = 0, copied_bytes = 0;
  std::uint64_t direct_bytes = 0;  ///< of those copied: read by the GPU where the index's file is mapped
  std::uint64_t in_place_lists = 0, in_place_bytes = 0;  ///< of which kernels read blocks where the file is mapped
  std::uint64_t evicted_lists = 0;
  std::uint64_t cut_lists = 0, cut_bytes = 0;  ///< lists of which a batch read the front only, and what follows it

  ListCacheCounts& operator+=(const ListCacheCounts& other) {
    using T = ListCacheCounts;
    return add_members(*this, other, &T::lists, &T::resident_lists, &T::bytes, &T::copied_bytes, &T::direct_bytes,
                       &T::in_place_lists, &T::in_place_bytes, &T::evicted_lists, &T::cut_lists, &T::cut_bytes);
  }
};

}  // namespace quern::gpu
