#pragma once
#include <cstdint>
#include <memory>
#include <span>

#include "quern/core/resources.hpp"
#include "quern/gpu/device/memory_division.hpp"
#include "quern/search/query_engine.hpp"

/// An index in a GPU's memory. Declared without CUDA: in a build without CUDA, constructors throw CudaError.
namespace quern::gpu {

/// Batches that a GPU works on at a time: one is made and copied while the other runs.
inline constexpr unsigned batches_in_flight = 2;

/// What kernels need of an index: numbers per document and, as far as memory goes, block rows and lists. Where memory
/// is too small for all lists, DeviceListStore brings those that batches need.
class DeviceIndex {
 public:
  struct Device;  ///< device memory and views; for CUDA sources only

  /// Copies what decoding needs to the GPU with this number: postings and block rows, as they are in the file. Throws
  /// GpuOutOfMemory if the GPU has too little free memory, CudaError if it can't be used.
  DeviceIndex(const IndexReader& index, unsigned gpu, const GpuMemoryOptions& memory, Progress& progress);
  /// Also copies what scores need: impacts or a constant per document, and static scores.
  DeviceIndex(const QueryEngine& engine, unsigned gpu, const GpuMemoryOptions& memory, Progress& progress);
  DeviceIndex(DeviceIndex&&) noexcept;
  ~DeviceIndex();

  /// Copies the index's block maxima to the GPU as well, unless they are there already.
  void upload_block_maxima(Progress& progress);
  /// Copies the documents' upper bounds (ScoringContext::upper_bounds) to the GPU as well, unless they are there
  /// already or there are none.
  void upload_upper_bounds(const QueryEngine& engine, Progress& progress);

  const IndexReader& index() const { return index_; }
  unsigned gpu() const { return gpu_; }
  /// How the memory is divided.
  const MemoryDivision& division() const { return division_; }
  /// What may be taken for a batch and the strategy's work on it, of each of batches_in_flight.
  std::uint64_t bytes_per_batch() const { return division_.per_batch; }
  /// Counts what stays in GPU memory.
  MemoryAccount& account() const { return *account_; }
  /// Counts the host memory that is pinned for this GPU.
  MemoryAccount& pinned() const { return *pinned_; }
  /// The most that both counted, by its use.
  MemoryTable memory() const {
    MemoryTable all = account_->peak();
    all[static_cast<std::size_t>(MemoryUse::pinned)] = pinned_->peak()[static_cast<std::size_t>(MemoryUse::pinned)];
    return all;
  }
  const Device& device() const { return *device_; }

 private:
  /// Copies one more array, which `what` names; empty if `from` is.
  template <class T>
  auto upload_more(MemoryUse use, std::span<const T> from, const char* what, Progress& progress);

  DeviceIndex(const IndexReader& index, const QueryEngine* scores, unsigned gpu, const GpuMemoryOptions& memory,
              Progress& progress);

  const IndexReader& index_;
  unsigned gpu_;
  MemoryDivision division_;
  std::uint64_t upload_buffer_ = 0;  ///< see PinnedDivision
  std::unique_ptr<MemoryAccount> account_ = std::make_unique<MemoryAccount>();
  std::unique_ptr<MemoryAccount> pinned_ = std::make_unique<MemoryAccount>();
  std::unique_ptr<Device> device_;
};

}  // namespace quern::gpu
