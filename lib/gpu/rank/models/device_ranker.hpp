#pragma once
#include "quern/formats/rankers/ranker_model.hpp"
#include "quern/gpu/device/memory_division.hpp"

namespace quern::gpu {

struct RankerArrays;

/// A model in one GPU's memory. It is immutable, so many flights may use it at once.
class DeviceRanker {
 public:
  /// Copies a model. The account must outlive it. With `fast_math`, tensor cores compute layers of at least 16 neurons
  /// for many documents; scores then differ from the CPU's. Throws GpuOutOfMemory, CudaError.
  DeviceRanker(const RankerArrays& arrays, unsigned gpu, MemoryAccount& account, bool fast_math = false);
  ~DeviceRanker();

  /// The number of feature columns that the model reads.
  std::uint32_t features() const;
  /// Bytes of GPU memory.
  std::uint64_t bytes() const;

  struct Device;
  const Device& device() const { return *device_; }

 private:
  std::unique_ptr<Device> device_;
};

/// Times of a call by the GPU's clock, in microseconds.
struct RankerTimes {
  double copy_in_us = 0;  ///< until all features are on the GPU, including waits for threads that gather them
  double inputs_us = 0, trees_us = 0, layers_us = 0;
  double copy_out_us = 0;  ///< 0 if kernels write scores to host memory
};

/// One thread's stream and memory for scoring documents whose features are on the host. Memory only grows.
class RankerFlight {
 public:
  /// The accounts must outlive the flight. Throws CudaError.
  RankerFlight(unsigned gpu, MemoryAccount& on_gpu, MemoryAccount& pinned);
  ~RankerFlight();

  /// Copies features to this flight's GPU, which has `ranker`, and scores back. Scores have the bits of
  /// Ranker::score(), except with `fast_math`. Throws GpuOutOfMemory, CudaError.
  void score(const DeviceRanker& ranker, const FeatureColumns& features, std::span<double> scores);

  /// Sets whether later calls measure times().
  void measure_times(bool wanted);
  /// The times of the last score().
  const RankerTimes& times() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace quern::gpu
