#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace quern {

/// A CUDA device of this machine.
struct GpuInfo {
  std::string name;
  std::uint64_t memory_bytes = 0;
  unsigned multiprocessors = 0;
  unsigned compute_major = 0, compute_minor = 0;  ///< 9 and 0 for a Hopper GPU
  unsigned clock_mhz = 0;                         ///< of its multiprocessors, at most
  std::string pci_bus_id;                         ///< as other interfaces to it know it
};

/// Whether this library holds its GPU parts.
bool built_with_cuda();

/// The CUDA devices, in the runtime's order (CUDA_VISIBLE_DEVICES applies). Empty without a GPU, without a
/// driver that this program can use, and without built_with_cuda(). Throws CudaError where a device is there
/// but can't be asked.
std::vector<GpuInfo> list_gpus();

}  // namespace quern
