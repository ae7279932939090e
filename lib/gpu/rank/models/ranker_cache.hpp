#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "quern/formats/rankers/ranker_model.hpp"
#include "quern/gpu/device/memory_division.hpp"
#include "quern/gpu/rank/models/device_ranker.hpp"
#include "quern/gpu/rank/models/model_places.hpp"

namespace quern::gpu {

/// Models in a part of one GPU's memory that is given to them (Tadros 2015, section 4): loaded with their first use,
/// the least recently used one makes room. Thread-safe.
class RankerCache {
 public:
  /// At most `bytes` of the GPU's memory. Nothing is reserved before a model comes.
  RankerCache(unsigned gpu, std::uint64_t bytes, DeviceRankerOptions options = {});

  /// The model on the GPU, which stays there as long as the pointer does; it must not be given up before the GPU is
  /// done with it. Null if the model is larger than the room that models in use leave. `model` is known by its address,
  /// and must outlive the cache. Throws InvalidArgument if check_model() does; CudaError.
  std::shared_ptr<const DeviceRanker> find(const RankerModel& model);

  unsigned gpu() const { return gpu_; }
  RankerCacheCounts counts() const;

 private:
  const unsigned gpu_;
  const DeviceRankerOptions options_;
  mutable std::mutex mutex_;
  MemoryAccount account_;  ///< outlives the models
  ModelPlaces<DeviceRanker> places_;
};

/// From how many documents on a call of the GPU is expected to take less time than a core, by what the model has to do;
/// the greatest number if never.
std::size_t fewest_gpu_documents(const RankerModel& model);

}  // namespace quern::gpu
