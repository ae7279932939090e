#pragma once
#include <cstdint>

#include "quern/core/feature_columns.hpp"
#include "quern/gpu/device/device_memory.cuh"
#include "quern/gpu/rank/features/feature_batch.hpp"
#include "quern/gpu/rank/features/feature_view.hpp"

/// For CUDA sources only.
namespace quern::gpu {

/// Working memory for features of one batch at a time.
class FeatureRun {
 public:
  FeatureRun(MemoryAccount& on_gpu, MemoryAccount& pinned);

  /// Copies a batch and computes its features in a stream, which must have finished the previous batch. `documents`:
  /// the forward file's words on the GPU; null if the batch gathers its own.
  void enqueue(const FeatureBatch& batch, const std::uint32_t* documents, const CudaStream& stream);
  /// The features on the GPU, after the stream has finished.
  FeatureColumns columns() const { return {columns_.data(), view_.num_documents, view_.stride}; }
  /// The outcome of the batch.
  enum class Outcome : std::uint8_t {
    done,
    again,    ///< there was too little space for all hits; enqueue the batch again, with more
    damaged,  ///< a document is damaged
  };
  Outcome outcome();

 private:
  void upload(const FeatureBatch& batch, const std::uint32_t* documents, const CudaStream& stream);
  void reserve(const FeatureBatch& batch);

  PinnedArray<std::uint8_t> host_in_;
  PinnedArray<FeatureCounters> host_counters_;
  DeviceArray<std::uint8_t> in_;
  DeviceArray<StreamHitsView> streams_;
  DeviceArray<PageHead> heads_;
  DeviceArray<std::uint32_t> tf_;
  DeviceArray<WordHit> hits_;
  DeviceArray<float> columns_;
  FeatureBatchView view_;
  std::size_t counters_at_ = 0;  ///< in in_
  bool again_ = false;           ///< the current batch lacked space for hits
};

}  // namespace quern::gpu
