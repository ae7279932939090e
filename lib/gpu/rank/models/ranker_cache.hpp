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

/// Models in one GPU's memory, within a limit (Tadros 2015, section 4). A model is loaded at its first use, and the
/// least recently used ones are evicted. Thread-safe.
class RankerCache {
 public:
  /// Uses at most `bytes` of GPU memory, which are allocated only with models.
  RankerCache(unsigned gpu, std::uint64_t bytes, DeviceRankerOptions options = {});

  /// The model on the GPU, where it stays as long as the pointer, which must be kept until the GPU has finished with
  /// it. Null if the models in use leave too little memory. `model` is identified by its address, and must outlive the
  /// cache. Throws InvalidArgument if check_model() does; CudaError.
  std::shared_ptr<const DeviceRanker> find(const RankerModel& model);

  unsigned gpu() const { return gpu_; }
  RankerCacheCounts counts() const;

 private:
  const unsigned gpu_;
  const DeviceRankerOptions options_;
  mutable std::mutex mutex_;
  MemoryAccount account_;  ///< must outlive the models
  ModelPlaces<DeviceRanker> places_;
};

/// The number of documents from which a GPU call should be faster than a core, given the model's work; the largest
/// number if never.
std::size_t fewest_gpu_documents(const RankerModel& model);

}  // namespace quern::gpu
