#pragma once
#include <memory>
#include <span>

#include "quern/core/feature_columns.hpp"
#include "quern/gpu/device/memory_division.hpp"
#include "quern/gpu/rank/models/device_ranker.hpp"

namespace quern::gpu {

/// Times of a call, by the GPU's clock, in microseconds.
struct RankerTimes {
  double copy_in_us = 0;  ///< until all features are on the GPU, waiting for threads that gather them included
  double inputs_us = 0, trees_us = 0, layers_us = 0;
  double copy_out_us = 0;  ///< 0 where kernels write scores to the host's memory
};

/// What one thread needs to score documents whose features are on the host: a stream, pinned memory and working memory,
/// which only grow.
class RankerFlight {
 public:
  /// The accounts must outlive it. Throws CudaError.
  RankerFlight(unsigned gpu, MemoryAccount& on_gpu, MemoryAccount& pinned);
  RankerFlight(const RankerFlight&) = delete;
  RankerFlight& operator=(const RankerFlight&) = delete;
  ~RankerFlight();

  /// Copies the features, scores, and copies the scores back; returns when that is done. The scores have the bits of
  /// Ranker::score(), but for DeviceRankerOptions::fast_math. `ranker` is on this flight's GPU. Throws GpuOutOfMemory,
  /// CudaError.
  void score(const DeviceRanker& ranker, const FeatureColumns& features, std::span<double> scores);

  /// Whether times() are measured from now on.
  void measure_times(bool wanted);
  /// Of the last score().
  const RankerTimes& times() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace quern::gpu
