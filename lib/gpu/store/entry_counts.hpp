#pragma once
#include <cstdint>

#include "quern/gpu/device/add_members.hpp"

namespace quern::gpu {

/// Lists that batches needed decoded, each once per batch.
struct EntryCounts {
  std::uint64_t lists = 0;
  std::uint64_t kept_lists = 0;  ///< of these, the lists that a batch before had decoded

  EntryCounts& operator+=(const EntryCounts& other) {
    return add_members(*this, other, &EntryCounts::lists, &EntryCounts::kept_lists);
  }
};

}  // namespace quern::gpu
