#pragma once
#include "quern/core/error.hpp"

namespace quern::gpu {

/// Calls `take()`, which takes memory and returns whether there was enough. If not, calls `free_others()`, which waits
/// for other batches and takes theirs, and tries once more. Throws GpuOutOfMemory with the message if that fails.
template <class Take, class FreeOthers>
void take_or_free(const Take& take, const FreeOthers& free_others, const char* message) {
  if (take()) return;
  free_others();
  if (!take()) throw GpuOutOfMemory(message);
}

}  // namespace quern::gpu
