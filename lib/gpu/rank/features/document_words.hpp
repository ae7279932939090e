#pragma once
#include <cstdint>
#include <memory>

#include "quern/core/resources.hpp"
#include "quern/gpu/device/memory_division.hpp"
#include "quern/rank/features/feature_extractor.hpp"

namespace quern::gpu {

/// The forward file's documents in a GPU's memory.
class DocumentWords {
 public:
  /// GPU memory that it takes.
  static std::uint64_t bytes_needed(const ForwardReader& forward);
  /// Copies those that the extractor reads; the accounts must outlive the object. Throws GpuOutOfMemory if there is no
  /// room, CorruptFile if the file is damaged.
  DocumentWords(const FeatureExtractor& extractor, unsigned gpu, MemoryAccount& on_gpu, MemoryAccount& pinned,
                Progress& progress);
  DocumentWords(const DocumentWords&) = delete;
  DocumentWords& operator=(const DocumentWords&) = delete;
  ~DocumentWords();

  /// In the GPU's memory: the section of documents from its first byte on.
  const std::uint32_t* words() const;

 private:
  struct Device;
  std::unique_ptr<Device> device_;
};

}  // namespace quern::gpu
