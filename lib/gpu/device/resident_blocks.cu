#include <cuda_runtime_api.h>

#include <algorithm>

#include "quern/gpu/device/cuda_check.hpp"
#include "quern/gpu/device/resident_blocks.hpp"

namespace quern::gpu {

ResidencyCache& ResidencyCache::instance() {
  static ResidencyCache known;
  return known;
}

unsigned ResidencyCache::blocks_of(const void* kernel, unsigned threads, std::size_t shared_bytes) {
  int device = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  const std::lock_guard lock(mutex_);
  const Launch launch{kernel, device, threads, shared_bytes};
  if (const auto known = blocks_.find(launch); known != blocks_.end()) return known->second;
  std::size_t& shared = shared_[{kernel, device}];
  if (shared_bytes > shared) {
    CUDA_CHECK(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes)));
    shared = shared_bytes;
  }
  int multiprocessors = 0, blocks = 0;
  CUDA_CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, static_cast<int>(threads), shared_bytes));
  return blocks_[launch] = static_cast<unsigned>(multiprocessors * std::max(blocks, 1));
}

}  // namespace quern::gpu
