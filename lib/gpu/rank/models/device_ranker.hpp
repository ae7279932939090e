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
  /// Layers of at least 16 neurons by tensor cores, where documents are many: their scores differ from the CPU's.
  bool fast_math = false;
};

/// A model in one GPU's memory. It does not change: many flights may use it at once.
class DeviceRanker {
 public:
  /// Copies a model that check_model() passes; throws InvalidArgument if that fails, GpuOutOfMemory if the account or
  /// the GPU has no room, CudaError. The account must outlive it.
  DeviceRanker(const RankerModel& model, unsigned gpu, MemoryAccount& account, const DeviceRankerOptions& options = {});
  DeviceRanker(const RankerArrays& arrays, unsigned gpu, MemoryAccount& account, const DeviceRankerOptions& options);
  DeviceRanker(const DeviceRanker&) = delete;
  DeviceRanker& operator=(const DeviceRanker&) = delete;
  ~DeviceRanker();

  /// How many feature columns the model reads.
  std::uint32_t features() const;
  /// Of the GPU's memory.
  std::uint64_t bytes() const;
  /// What such a model takes. Makes it ready as for copying, which is most of the work.
  static std::uint64_t bytes_needed(const RankerModel& model);

  struct Device;
  const Device& device() const { return *device_; }

 private:
  std::unique_ptr<Device> device_;
};

/// A copy of features in pinned memory of the host, from where a RankerFlight copies them without gathering.
class PinnedFeatures {
 public:
  /// `pinned` must outlive it. Throws GpuOutOfMemory, CudaError.
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
