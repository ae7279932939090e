#pragma once
#include <optional>

#include "quern/gpu/device/device_info.hpp"
#include "quern/gpu/worker/gpu_statistics.hpp"

namespace quern {

/// What a GPU can do at best.
struct GpuLimits {
  double bytes_per_second = 0;      ///< of its memory, as measured by a copy
  double additions_per_second = 0;  ///< to random places in shared memory
};

/// The bandwidth of a GPU's memory, in bytes per second, by copies of 512 MiB within it; read and written bytes both
/// count. The median of several copies. Throws CudaError if the GPU fails or has too little memory.
double measure_copy_speed(unsigned number);

/// Measures the bandwidth of GPU `number`, and computes the throughput of its shared memory. Throws CudaError.
GpuLimits limits_of(const GpuInfo& gpu, unsigned number);

/// The minimum time that batches need, and the resource that determines it.
struct GpuBound {
  const char* name = "";
  double seconds = 0;
};

/// The longer of two times: for the GPU's memory, to read the lists once and write their entries (and read these once,
/// if all are added up); for shared memory, to do all additions. None if lists were not decoded as a whole, since then
/// it is unknown what must be read.
std::optional<GpuBound> bound_of(const gpu::BatchCounts& counts, const GpuLimits& limits);

}  // namespace quern
