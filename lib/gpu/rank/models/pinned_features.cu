#include <cstring>

#include "quern/gpu/device/device_memory.cuh"
#include "quern/gpu/rank/models/pinned_features.hpp"

namespace quern::gpu {

struct PinnedFeatures::Memory {
  PinnedArray<float> values;
};

PinnedFeatures::PinnedFeatures(const FeatureColumns& features, std::size_t num_features, MemoryAccount& pinned)
    : memory_(std::make_unique<Memory>()), columns_(features) {
  const std::size_t count = num_features * features.stride;
  memory_->values = PinnedArray<float>(pinned, MemoryUse::pinned, count);
  if (count > 0) std::memcpy(memory_->values.data(), features.values, count * sizeof(float));
  columns_.values = memory_->values.data();
}

PinnedFeatures::~PinnedFeatures() = default;

}  // namespace quern::gpu
