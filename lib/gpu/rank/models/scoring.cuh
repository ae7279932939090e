#pragma once
#include <cstdint>
#include <vector>

#include "quern/core/feature_columns.hpp"
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

// Scoring on a GPU. For CUDA sources only.

/// Working memory of one flight, which only grows. Used by one thread at a time, and in one stream.
class ScoringMemory {
 public:
  /// `account` must outlive it.
  explicit ScoringMemory(MemoryAccount& account) : memory_(account, MemoryUse::working) {}

  /// At least `bytes` bytes, whose contents are lost when they grow. Throws GpuOutOfMemory.
  std::uint8_t* get(std::size_t bytes) {
    memory_.reserve(bytes);
    return memory_.data();
  }

 private:
  DeviceArray<std::uint8_t> memory_;
};

/// What is measured of scoring, with the GPU's clock.
struct ScoringClocks {
  StepClock inputs, trees, layers;
};

/// Enqueues the scoring of documents, whose features kernels can read: their stride is a multiple of 32, and values up
/// to there may be read. Writes FeatureColumns::documents scores, to the GPU's memory or to pinned memory. The model is
/// on the current GPU, and stays until all is done; so does `memory`. Throws GpuOutOfMemory, CudaError.
void enqueue_scoring(const DeviceRanker& ranker, const FeatureColumns& features, double* scores, ScoringMemory& memory,
                     const CudaStream& stream, ScoringClocks* clocks = nullptr);

}  // namespace quern::gpu
