#pragma once
#include "quern/core/types.hpp"

namespace quern {

/// A CUDA device of this machine.
struct GpuInfo {
  std::string name;
  std::uint64_t memory_bytes = 0;
  unsigned multiprocessors = 0;
  unsigned compute_major = 0, compute_minor = 0;  ///< 9 and 0 for a Hopper GPU
  unsigned clock_mhz = 0;                         ///< maximum clock of its multiprocessors
  std::string pci_bus_id;                         ///< as NVML identifies it
};

/// Whether this library was built with CUDA.
bool built_with_cuda();

/// The CUDA devices, in the runtime's order (CUDA_VISIBLE_DEVICES applies). Empty if there is no GPU or no usable
/// driver, or the library was built without CUDA. Throws CudaError if a device can't be queried.
std::vector<GpuInfo> list_gpus();

/// Unallocated bytes of a GPU's memory. Throws CudaError.
std::uint64_t free_gpu_memory(unsigned gpu);

}  // namespace quern
