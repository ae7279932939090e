#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "quern/core/scratch_memory.hpp"
#include "quern/formats/rankers/ranker_model.hpp"
#include "quern/gpu/device/memory_division.hpp"
#include "quern/gpu/rank/models/device_ranker.hpp"
#include "quern/gpu/rank/models/model_places.hpp"
#include "quern/gpu/rank/models/ranker_flight.hpp"
#include "quern/rank/models/ranker.hpp"

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

struct GpuRankerOptions {
  /// Calls with fewer documents go to the CPU; none: fewest_gpu_documents().
  std::optional<std::size_t> fewest_documents;
  /// What all flights may take: of the GPU's memory besides models, and of host memory that copies pin.
  std::uint64_t working_bytes = std::uint64_t{512} << 20, pinned_bytes = std::uint64_t{256} << 20;
};

/// Where documents were scored.
struct GpuRankerCounts {
  std::uint64_t documents_on_gpu = 0, documents_on_cpu = 0;
  std::uint64_t without_room = 0;  ///< of those on the CPU: the model, or the batch, had no room on the GPU
  std::uint64_t failures = 0;      ///< calls that the GPU failed
};

/// A model that is scored on a GPU where that is worth it, else on the CPU, with the same bits (Tadros 2015, section
/// 4): few documents, models and batches without room, and everything once the GPU has failed go to the CPU. Many
/// threads may score at once.
class GpuRanker : public Ranker {
 public:
  /// `model`, which the CPU's ranker was made of, and `cache` must outlive it.
  GpuRanker(const RankerModel& model, std::unique_ptr<const Ranker> on_cpu, RankerCache& cache,
            const GpuRankerOptions& options = {});

  using Ranker::score;
  void score(const FeatureColumns& features, std::span<double> scores) const override;

  std::size_t fewest_documents() const { return fewest_documents_; }
  GpuRankerCounts counts() const;

 private:
  enum class Outcome : std::uint8_t { scored, no_room, failed };
  Outcome try_gpu(const FeatureColumns& features, std::span<double> scores) const;

  const RankerModel& model_;
  const std::unique_ptr<const Ranker> on_cpu_;
  RankerCache& cache_;
  const std::size_t fewest_documents_;
  mutable MemoryAccount on_gpu_, pinned_;
  mutable SparePool<RankerFlight> flights_;
  mutable std::atomic<bool> failed_ = false;
  mutable std::atomic<std::uint64_t> documents_on_gpu_ = 0, documents_on_cpu_ = 0, without_room_ = 0, failures_ = 0;
};

}  // namespace quern::gpu
