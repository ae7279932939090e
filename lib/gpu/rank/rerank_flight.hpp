#pragma once
#include "quern/gpu/rank/features/feature_batch.hpp"
#include "quern/gpu/rank/models/device_ranker.hpp"

namespace quern::gpu {

/// The documents of a forward file, or of those of all shards, in a GPU's memory.
class DocumentWords {
 public:
  static std::uint64_t bytes_needed(const FeatureExtractor& extractor);
  /// Copies the extractor's documents. The accounts must outlive the object. Throws GpuOutOfMemory, CorruptFile.
  DocumentWords(const FeatureExtractor& extractor, unsigned gpu, MemoryAccount& on_gpu, MemoryAccount& pinned,
                Progress& progress);

  /// The sections of documents in GPU memory, one after another.
  const std::uint32_t* words() const { return words_.data(); }

 private:
  DeviceArray<std::uint32_t> words_;
};

/// One thread's batch, stream and memory, which only grows, to compute features and scores of documents on a GPU.
class RerankFlight {
 public:
  /// `documents`: null if batches carry their documents. All arguments must outlive the flight. Throws CudaError.
  RerankFlight(unsigned gpu, const FeatureExtractor& extractor, const DocumentWords* documents,
               const FeatureBatchLimits& limits, MemoryAccount& on_gpu, MemoryAccount& pinned);
  ~RerankFlight();

  /// The documents for the next calls.
  FeatureBatch& batch() { return batch_; }
  /// Fills the model's scores of the batch's documents, with the bits of Ranker::score(), and returns true; false if a
  /// document is damaged. The model, on this GPU, reads the extractor's columns. Throws GpuOutOfMemory, CudaError.
  bool score(const DeviceRanker& ranker, std::span<double> scores);
  /// Fills the features of the batch's documents instead.
  bool features(FeatureMatrix& matrix);

 private:
  struct State;
  FeatureBatch batch_;
  std::unique_ptr<State> state_;
};

}  // namespace quern::gpu
