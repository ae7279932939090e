#pragma once
#include <optional>

#include "quern/gpu/device/device_info.hpp"
#include "quern/gpu/engine/gpu_statistics.hpp"

namespace quern {

/// What a GPU can do at most.
struct GpuCeilings {
  double bytes_per_second = 0;      ///< of its memory, as measured by a copy
  double additions_per_second = 0;  ///< to random places in shared memory
};

/// Measures the GPU's memory and reckons its shared memory. Throws CudaError.
GpuCeilings upper_bounds_of(const GpuInfo& gpu, unsigned number);

/// The least time that batches need, and what sets it.
struct GpuBound {
  const char* name = "";
  double seconds = 0;
};

/// The longer one of two times: that in which memory gives the lists once and takes their entries (and gives them back
/// once, where all are added up), and that in which shared memory takes all additions. None where lists were not
/// decoded as a whole, since then nothing is known of what must be read.
std::optional<GpuBound> bound_of(const gpu::BatchCounts& counts, const GpuCeilings& upper_bounds);

}  // namespace quern
