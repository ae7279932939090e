#pragma once
#include <cstdint>
#include <vector>

#include "quern/core/feature_columns.hpp"
#include "quern/gpu/device/device_memory.cuh"
#include "quern/gpu/rank/models/device_ranker.hpp"
#include "quern/gpu/rank/models/scoring_steps.cuh"

namespace quern::gpu {

/// The GPU memory of a DeviceRanker. For CUDA sources only.
struct DeviceRanker::Device {
  Device(const RankerArrays& arrays, unsigned on_gpu, MemoryAccount& account, const DeviceRankerOptions& options);

  unsigned gpu = 0, multiprocessors = 1;
  DeviceArray<std::uint8_t> memory;
  std::vector<LayerPlace> layers;
  LoadedRanker loaded;
};

// Scoring on a GPU. For CUDA sources only.

/// Working memory of one flight, which only grows. For one thread at a time, and one stream.
class ScoringMemory {
 public:
  /// `account` must outlive the object.
  explicit ScoringMemory(MemoryAccount& account) : memory_(account, MemoryUse::working) {}

  /// At least `bytes` bytes; growing loses the contents. Throws GpuOutOfMemory.
  std::uint8_t* get(std::size_t bytes) {
    memory_.reserve(bytes);
    return memory_.data();
  }

 private:
  DeviceArray<std::uint8_t> memory_;
};

/// GPU times of scoring, by stage.
struct ScoringClocks {
  StepClock inputs, trees, layers;
};

/// Enqueues the scoring of documents. Kernels must be able to read the features, up to the stride, a multiple of 32.
/// Writes FeatureColumns::documents scores to GPU memory or pinned memory. The model must be on the current GPU; it and
/// `memory` must stay until the stream has finished. Throws GpuOutOfMemory, CudaError.
void enqueue_scoring(const DeviceRanker& ranker, const FeatureColumns& features, double* scores, ScoringMemory& memory,
                     const CudaStream& stream, ScoringClocks* clocks = nullptr);

}  // namespace quern::gpu
