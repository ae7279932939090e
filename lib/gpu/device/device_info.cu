#include <cuda_runtime_api.h>

#include "quern/gpu/device/device_info.hpp"
#include "quern/gpu/device/device_memory.cuh"

namespace quern {

bool built_with_cuda() { return true; }

std::vector<GpuInfo> list_gpus() {
  int count = 0;
  // Not errors: most machines have no GPU, and the driver may be missing or older than the runtime.
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaErrorNoDevice || status == cudaErrorInsufficientDriver) return {};
  CUDA_CHECK(status);

  std::vector<GpuInfo> gpus;
  for (int device = 0; device < count; ++device) {
    cudaDeviceProp properties{};
    CUDA_CHECK(cudaGetDeviceProperties(&properties, device));
    int clock_khz = 0;
    CUDA_CHECK(cudaDeviceGetAttribute(&clock_khz, cudaDevAttrClockRate, device));
    char bus_id[32] = {};
    CUDA_CHECK(cudaDeviceGetPCIBusId(bus_id, sizeof bus_id, device));
    gpus.push_back({properties.name, properties.totalGlobalMem, static_cast<unsigned>(properties.multiProcessorCount),
                    static_cast<unsigned>(properties.major), static_cast<unsigned>(properties.minor),
                    static_cast<unsigned>(clock_khz) / 1000, bus_id});
  }
  return gpus;
}

std::uint64_t free_gpu_memory(unsigned gpu) {
  CUDA_CHECK(cudaSetDevice(static_cast<int>(gpu)));
  std::size_t free_bytes = 0, all_bytes = 0;
  CUDA_CHECK(cudaMemGetInfo(&free_bytes, &all_bytes));
  return free_bytes;
}

}  // namespace quern
