#include "quern/gpu/device_info.hpp"

// What a library without its GPU parts answers; cmake/cuda.cmake leaves this file out.
namespace quern {

bool built_with_cuda() { return false; }

std::vector<GpuInfo> list_gpus() { return {}; }

}  // namespace quern
