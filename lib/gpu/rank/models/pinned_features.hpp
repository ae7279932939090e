#pragma once
#include <cstddef>
#include <memory>

#include "quern/core/feature_columns.hpp"
#include "quern/gpu/device/memory_account.hpp"

namespace quern::gpu {

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
