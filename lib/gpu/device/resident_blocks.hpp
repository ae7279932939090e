#pragma once
#include <map>
#include <tuple>

#include "quern/gpu/device/device_memory.cuh"

/// The number of thread blocks of a launch. For CUDA sources only.
namespace quern::gpu {

/// Resident thread blocks of a kernel on the current device, cached since the query is slow. Thread-safe.
inline unsigned all_resident_blocks(const void* kernel, unsigned threads, std::size_t shared_bytes) {
  using Launch = std::tuple<const void*, int, unsigned, std::size_t>;  // kernel, device, threads, shared bytes
  static std::mutex mutex;
  static std::map<Launch, unsigned> known;
  // Dynamic shared memory allowed so far, per kernel and device.
  static std::map<std::pair<const void*, int>, std::size_t> allowed;
  int device = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  const std::lock_guard lock(mutex);
  unsigned& resident = known[{kernel, device, threads, shared_bytes}];
  if (resident > 0) return resident;
  std::size_t& shared = allowed[{kernel, device}];
  if (shared_bytes > shared) {
    CUDA_CHECK(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes)));
    shared = shared_bytes;
  }
  int multiprocessors = 0, blocks = 0;
  CUDA_CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, static_cast<int>(threads), shared_bytes));
  return resident = static_cast<unsigned>(multiprocessors * std::max(blocks, 1));
}

/// The number of a kernel's thread blocks that run at the same time, which is enough for launches that take work from a
/// queue or divide it evenly. `left_free`: number of thread blocks left to other kernels.
template <class Kernel>
unsigned resident_blocks(Kernel kernel, unsigned threads, std::size_t shared_bytes, unsigned left_free = 0) {
  const unsigned all = all_resident_blocks(reinterpret_cast<const void*>(kernel), threads, shared_bytes);
  return all > left_free ? all - left_free : 1;
}

/// Launches a kernel without dynamic shared memory in resident_blocks() thread blocks.
template <class... Parameters, class... Arguments>
void launch_resident(void (*kernel)(Parameters...), unsigned threads, unsigned left_free, cudaStream_t stream,
                     const Arguments&... arguments) {
  launch(kernel, resident_blocks(kernel, threads, 0, left_free), threads, 0, stream, arguments...);
}

}  // namespace quern::gpu
