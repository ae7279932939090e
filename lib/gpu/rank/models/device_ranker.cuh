#pragma once
#include <vector>

#include "quern/gpu/device/device_memory.cuh"
#include "quern/gpu/rank/models/device_ranker.hpp"
#include "quern/gpu/rank/models/scoring_steps.cuh"

namespace quern::gpu {

/// What a DeviceRanker has on its GPU. For CUDA sources only.
struct DeviceRanker::Device {
  Device(const RankerArrays& arrays, unsigned on_gpu, MemoryAccount& account, const DeviceRankerOptions& options);

  unsigned gpu = 0, multiprocessors = 1;
  DeviceArray<std::uint8_t> memory;
  std::vector<LayerPlace> layers;
  LoadedRanker loaded;
};

}  // namespace quern::gpu
