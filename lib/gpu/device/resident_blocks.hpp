#pragma once
#include <cstddef>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>

#include "quern/gpu/device/cuda_check.hpp"

/// CUDA sources alone include this.
namespace quern::gpu {

/// What resident_blocks() found out, since asking the driver takes longer than a launch.
class KnownResidency {
 public:
  /// Blocks of that kernel, with so many threads and so much dynamic shared memory, on the current device.
  unsigned blocks_of(const void* kernel, unsigned threads, std::size_t shared_bytes);
  static KnownResidency& instance();

 private:
  using Launch = std::tuple<const void*, int, unsigned, std::size_t>;  ///< kernel, device, threads, shared bytes

  std::mutex mutex_;
  std::map<Launch, unsigned> blocks_;
  std::map<std::pair<const void*, int>, std::size_t> shared_;  ///< what each kernel may take on each device
};

/// As many thread blocks as run at a time: kernels take their work from a queue. Thread-safe.
template <class Kernel>
unsigned resident_blocks(Kernel kernel, unsigned threads, std::size_t shared_bytes) {
  return KnownResidency::instance().blocks_of(reinterpret_cast<const void*>(kernel), threads, shared_bytes);
}

}  // namespace quern::gpu
