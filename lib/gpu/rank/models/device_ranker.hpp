#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>

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
  /// Copies a model. The account must outlive the object. Throws InvalidArgument if check_model() does, GpuOutOfMemory,
  /// CudaError.
  DeviceRanker(const RankerModel& model, unsigned gpu, MemoryAccount& account, const DeviceRankerOptions& options = {});
  DeviceRanker(const RankerArrays& arrays, unsigned gpu, MemoryAccount& account, const DeviceRankerOptions& options);
  DeviceRanker(const DeviceRanker&) = delete;
  DeviceRanker& operator=(const DeviceRanker&) = delete;
  ~DeviceRanker();

  /// The number of feature columns that the model reads.
  std::uint32_t features() const;
  /// Bytes of GPU memory.
  std::uint64_t bytes() const;
  /// The GPU memory of a model. Prepares the model as for copying, which is most of the work.
  static std::uint64_t bytes_needed(const RankerModel& model);

  struct Device;
  const Device& device() const { return *device_; }

 private:
  std::unique_ptr<Device> device_;
};

/// A copy of features in pinned host memory, from which a RankerFlight copies without gathering.
class PinnedFeatures {
 public:
  /// `pinned` must outlive the object. Throws GpuOutOfMemory, CudaError.
  PinnedFeatures(const FeatureColumns& features, std::size_t num_features, MemoryAccount& pinned);
  PinnedFeatures(const PinnedFeatures&) = delete;
  PinnedFeatures& operator=(const PinnedFeatures&) = delete;
  ~PinnedFeatures();

  const FeatureColumns& columns() const { return columns_; }

 private:
  struct Memory;
  std::unique_ptr<Memory> memory_;
  FeatureColumns columns_;
};

}  // namespace quern::gpu
