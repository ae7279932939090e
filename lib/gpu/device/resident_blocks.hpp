#pragma once
#include <algorithm>
#include <cstddef>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>

#include "quern/gpu/device/device_memory.cuh"

/// The number of thread blocks of a launch. For CUDA sources only.
namespace quern::gpu {

/// Caches the results of resident_blocks(), since the driver's query takes longer than a launch.
class ResidencyCache {
 public:
  /// Resident thread blocks of a kernel on the current device, given its threads and dynamic shared memory.
  unsigned blocks_of(const void* kernel, unsigned threads, std::size_t shared_bytes);
  static ResidencyCache& instance();

 private:
  using Launch = std::tuple<const void*, int, unsigned, std::size_t>;  ///< kernel, device, threads, shared bytes

  std::mutex mutex_;
  std::map<Launch, unsigned> blocks_;
  std::map<std::pair<const void*, int>, std::size_t>
      shared_;  ///< dynamic shared memory allowed so far, per kernel and device
};

inline ResidencyCache& ResidencyCache::instance() {
  static ResidencyCache known;
  return known;
}

inline unsigned ResidencyCache::blocks_of(const void* kernel, unsigned threads, std::size_t shared_bytes) {
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

/// The number of a kernel's thread blocks that run at the same time, which is enough for launches that take work from a
/// queue or divide it evenly. `left_free`: number of thread blocks left to other kernels. Thread-safe.
template <class Kernel>
unsigned resident_blocks(Kernel kernel, unsigned threads, std::size_t shared_bytes, unsigned left_free = 0) {
  const unsigned all =
      ResidencyCache::instance().blocks_of(reinterpret_cast<const void*>(kernel), threads, shared_bytes);
  return all > left_free ? all - left_free : 1;
}

/// Launches a kernel without dynamic shared memory in resident_blocks() thread blocks.
template <class... Parameters, class... Arguments>
void launch_resident(void (*kernel)(Parameters...), unsigned threads, unsigned left_free, cudaStream_t stream,
                     const Arguments&... arguments) {
  kernel<<<resident_blocks(kernel, threads, 0, left_free), threads, 0, stream>>>(arguments...);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace quern::gpu
