#pragma once
#include <cstddef>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>

#include "quern/gpu/device/cuda_check.hpp"

/// For CUDA sources only.
namespace quern::gpu {

/// Results of resident_blocks(), since asking the driver takes longer than a launch.
class ResidencyCache {
 public:
  /// Resident thread blocks of a kernel on the current device, given its threads and dynamic shared memory.
  unsigned blocks_of(const void* kernel, unsigned threads, std::size_t shared_bytes);
  static ResidencyCache& instance();

 private:
  using Launch = std::tuple<const void*, int, unsigned, std::size_t>;  ///< kernel, device, threads, shared bytes

  std::mutex mutex_;
  std::map<Launch, unsigned> blocks_;
  std::map<std::pair<const void*, int>, std::size_t> shared_;  ///< set so far, per kernel and device
};

/// How many thread blocks of a kernel run at the same time: launches that share out their work need no more.
/// Thread-safe.
template <class Kernel>
unsigned resident_blocks(Kernel kernel, unsigned threads, std::size_t shared_bytes) {
  return ResidencyCache::instance().blocks_of(reinterpret_cast<const void*>(kernel), threads, shared_bytes);
}

}  // namespace quern::gpu
