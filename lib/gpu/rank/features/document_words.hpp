#pragma once
#include <cstdint>
#include <memory>

#include "quern/core/resources.hpp"
#include "quern/gpu/device/memory_division.hpp"
#include "quern/rank/features/feature_extractor.hpp"

namespace quern::gpu {

/// The documents of a forward file, or of those of all shards, in a GPU's memory.
class DocumentWords {
 public:
  /// The GPU memory needed.
  static std::uint64_t bytes_needed(const FeatureExtractor& extractor);
  /// Copies the extractor's documents. The accounts must outlive the object. Throws GpuOutOfMemory, or CorruptFile if
  /// the file is damaged.
  DocumentWords(const FeatureExtractor& extractor, unsigned gpu, MemoryAccount& on_gpu, MemoryAccount& pinned,
                Progress& progress);
  DocumentWords(const DocumentWords&) = delete;
  DocumentWords& operator=(const DocumentWords&) = delete;
  ~DocumentWords();

  /// The sections of documents in GPU memory, one after another.
  const std::uint32_t* words() const;

 private:
  struct Device;
  std::unique_ptr<Device> device_;
};

}  // namespace quern::gpu
