#pragma once
#include <algorithm>
#include <cstddef>

#include "quern/gpu/cuda_check.hpp"

/// CUDA sources alone include this.
namespace quern::gpu {

/// As many thread blocks as run at a time: kernels take their work from a queue.
template <class Kernel>
unsigned resident_blocks(Kernel kernel, unsigned threads, std::size_t shared_bytes) {
  int device = 0, multiprocessors = 0, blocks = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  if (shared_bytes > 0)
    CUDA_CHECK(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes)));
  CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, static_cast<int>(threads), shared_bytes));
  return static_cast<unsigned>(multiprocessors * std::max(blocks, 1));
}

}  // namespace quern::gpu
