#pragma once
#include "quern/core/feature_columns.hpp"
#include "quern/formats/rankers/ranker_model.hpp"
#include "quern/gpu/device/memory_division.hpp"

namespace quern::gpu {

struct RankerArrays;

struct DeviceRankerOptions {
  /// Whether tensor cores compute layers of at least 16 neurons for many documents. Scores then differ from the CPU's.
  bool fast_math = false;
};

/// A model in one GPU's memory. It is immutable, so many flights may use it at once.
class DeviceRanker {
 public:
  /// Copies a model. The account must outlive it. Throws like check_model(), GpuOutOfMemory, CudaError.
  DeviceRanker(const RankerModel& model, unsigned gpu, MemoryAccount& account, const DeviceRankerOptions& options = {});
  DeviceRanker(const RankerArrays& arrays, unsigned gpu, MemoryAccount& account, const DeviceRankerOptions& options);
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

/// A copy of features in pinned host memory, from which a RankerFlight copies without gathering.
class PinnedFeatures {
 public:
  /// `pinned` must outlive the object. Throws GpuOutOfMemory, CudaError.
  PinnedFeatures(const FeatureColumns& features, std::size_t num_features, MemoryAccount& pinned)
      : values_(pinned, MemoryUse::pinned, num_features * features.stride), columns_(features) {
    std::copy_n(features.values, values_.size(), values_.data());
    columns_.values = values_.data();
  }

  const FeatureColumns& columns() const { return columns_; }

 private:
  PinnedArray<float> values_;
  FeatureColumns columns_;
};

}  // namespace quern::gpu
