#pragma once
#include "quern/gpu/device/device_memory.cuh"
#include "quern/gpu/rank/models/device_ranker.hpp"
#include "quern/gpu/rank/models/scoring_steps.cuh"

namespace quern::gpu {

/// The GPU memory of a DeviceRanker. For CUDA sources only.
struct DeviceRanker::Device {
  Device(const RankerArrays& arrays, unsigned gpu, MemoryAccount& account, bool fast_math);

  unsigned multiprocessors = 1;
  DeviceArray<std::uint8_t> memory;
  std::vector<LayerPlace> layers;
  LoadedRanker loaded;
};

/// GPU times of scoring, by stage.
using ScoringClocks = std::array<StepClock, 3>;

/// Enqueues the scoring of documents. Kernels must be able to read the features, up to the stride, a multiple of 32.
/// Writes FeatureColumns::documents scores to GPU memory or pinned memory. The model must be on the current GPU; it and
/// `memory`, working memory that only grows, must stay until the stream has finished. Throws GpuOutOfMemory, CudaError.
void enqueue_scoring(const DeviceRanker& ranker, const FeatureColumns& features, double* scores,
                     DeviceArray<std::uint8_t>& memory, const CudaStream& stream, ScoringClocks* clocks = nullptr);

}  // namespace quern::gpu
