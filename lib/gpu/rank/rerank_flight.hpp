#pragma once
#include <memory>
#include <span>

#include "quern/gpu/device/memory_division.hpp"
#include "quern/gpu/rank/features/document_words.hpp"
#include "quern/gpu/rank/features/feature_batch.hpp"
#include "quern/gpu/rank/models/device_ranker.hpp"

namespace quern::gpu {

/// One thread's batch, stream and memory to compute features and scores of documents on a GPU, where both stay. The
/// memory only grows.
class RerankFlight {
 public:
  /// `documents`: the forward file on the GPU; null: batches carry their documents. All arguments must outlive the
  /// flight. Throws CudaError.
  RerankFlight(unsigned gpu, const FeatureExtractor& extractor, const DocumentWords* documents,
               const FeatureBatchLimits& limits, MemoryAccount& on_gpu, MemoryAccount& pinned);
  RerankFlight(const RerankFlight&) = delete;
  RerankFlight& operator=(const RerankFlight&) = delete;
  ~RerankFlight();

  /// The documents for the next calls.
  FeatureBatch& batch() { return batch_; }
  /// Fills the model's scores of the batch's documents, with the bits of Ranker::score(), and returns true; false if a
  /// document is damaged. The model reads the extractor's columns, and is on this GPU. Throws GpuOutOfMemory,
  /// CudaError.
  bool score(const DeviceRanker& ranker, std::span<double> scores);
  /// Fills the features of the batch's documents instead.
  bool features(FeatureMatrix& matrix);

 private:
  struct State;
  FeatureBatch batch_;
  std::unique_ptr<State> state_;
};

}  // namespace quern::gpu
