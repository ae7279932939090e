#pragma once
#include "quern/gpu/device/memory_division.hpp"

/// An index in a GPU's memory. Declared without CUDA: in a build without CUDA, constructors throw CudaError.
namespace quern::gpu {

/// Batches in flight per GPU: one is made and copied while the other runs.
inline constexpr unsigned batches_in_flight = 2;

/// The data of an index that kernels need: numbers per document and, if they fit, block rows and lists. If memory is
/// too small for all lists, DeviceListStore copies those that batches need.
class DeviceIndex {
 public:
  struct Device;  ///< device memory and views; for CUDA sources only

  /// Copies postings and block rows, as stored in the file, to GPU `gpu`. Throws GpuOutOfMemory if it has too little
  /// free memory, CudaError if it is unusable.
  DeviceIndex(const IndexReader& index, unsigned gpu, const GpuMemoryOptions& memory, Progress& progress)
      : DeviceIndex(index, nullptr, gpu, memory, progress) {}
  /// Also copies impacts or a constant per document, and static scores, for scoring.
  DeviceIndex(const QueryEngine& engine, unsigned gpu, const GpuMemoryOptions& memory, Progress& progress)
      : DeviceIndex(engine.index(), &engine, gpu, memory, progress) {}
  ~DeviceIndex();

  /// Copies the index's block maxima too, unless the GPU has them.
  void upload_block_maxima(Progress& progress);
  /// Copies the documents' upper bounds (ScoringContext::upper_bounds) too, if there are any, unless the GPU has them.
  void upload_upper_bounds(const QueryEngine& engine, Progress& progress);

  const IndexReader& index() const { return index_; }
  unsigned gpu() const { return gpu_; }
  const MemoryDivision& division() const { return division_; }
  /// Maximum memory of each of batches_in_flight batches, with the strategy's working memory.
  std::uint64_t bytes_per_batch() const { return division_.per_batch; }
  /// Counts all GPU memory: what stays allocated, and what batches take.
  MemoryAccount& whole_account() const { return *whole_account_; }
  /// Counts GPU memory that stays allocated.
  MemoryAccount& account() const { return *account_; }
  /// Counts host memory pinned for this GPU.
  MemoryAccount& pinned() const { return *pinned_; }
  /// The peaks of both accounts, by use.
  MemoryTable memory() const {
    MemoryTable all = account_->peak();
    all[static_cast<std::size_t>(MemoryUse::pinned)] = pinned_->peak()[static_cast<std::size_t>(MemoryUse::pinned)];
    return all;
  }
  const Device& device() const { return *device_; }

 private:
  /// Copies an additional array, named `what`; empty if `from` is.
  template <class T>
  auto upload_more(MemoryUse use, std::span<const T> from, const char* what, Progress& progress);

  DeviceIndex(const IndexReader& index, const QueryEngine* scores, unsigned gpu, const GpuMemoryOptions& memory,
              Progress& progress);

  const IndexReader& index_;
  unsigned gpu_;
  MemoryDivision division_;
  std::uint64_t upload_buffer_ = 0;  ///< see PinnedDivision
  std::unique_ptr<MemoryAccount> whole_account_ = std::make_unique<MemoryAccount>();
  std::unique_ptr<MemoryAccount> account_ =
      std::make_unique<MemoryAccount>(std::numeric_limits<std::uint64_t>::max(), whole_account_.get());
  std::unique_ptr<MemoryAccount> pinned_ = std::make_unique<MemoryAccount>();
  std::unique_ptr<Device> device_;
};

}  // namespace quern::gpu
