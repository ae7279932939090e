#pragma once
#include <cstdint>

#include "quern/core/feature_columns.hpp"
#include "quern/gpu/device/device_memory.cuh"
#include "quern/gpu/rank/features/feature_batch.hpp"
#include "quern/gpu/rank/features/feature_view.hpp"

/// For CUDA sources only.
namespace quern::gpu {

/// Working memory for features of one batch at a time, which is used again for the next.
class FeatureRun {
 public:
  FeatureRun(MemoryAccount& on_gpu, MemoryAccount& pinned);

  /// Copies a batch and computes its features in a stream, which must be done with the batch before. `documents`: the
  /// forward file's words on the GPU; null if the batch gathers its own.
  void enqueue(const FeatureBatch& batch, const std::uint32_t* documents, const CudaStream& stream);
  /// The features on the GPU, once the stream is done.
  FeatureColumns columns() const { return {columns_.data(), view_.num_documents, view_.stride}; }
  /// What the batch came to, to be called once the stream is done.
  enum class Outcome : std::uint8_t {
    done,
    again,    ///< there was no room for all hits, but there is now: to be enqueued again
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
  bool again_ = false;           ///< the current batch lacked room
};

}  // namespace quern::gpu
