#pragma once
#include <cstdint>
#include <memory>

#include "quern/core/progress.hpp"
#include "quern/query/query_engine.hpp"

/// An index in a GPU's memory. Declared without CUDA: a build without it throws CudaError from the constructor.
namespace quern::gpu {

class DeviceIndex {
 public:
  struct Device;  ///< what kernels see; of CUDA sources alone

  /// Copies what decoding needs to the GPU of that number: postings and block rows, as they are in the file. Checks the
  /// memory that this takes first; throws CudaError if the GPU has less.
  DeviceIndex(const IndexReader& index, unsigned gpu, Progress& progress);
  /// Copies what scores need too: impacts or a constant for each document, and static scores.
  DeviceIndex(const QueryEngine& engine, unsigned gpu, Progress& progress);
  DeviceIndex(DeviceIndex&&) noexcept;
  ~DeviceIndex();

  /// Copies the index's block maxima to the GPU too, unless they are there.
  void hold_block_maxima(Progress& progress);

  const IndexReader& index() const { return index_; }
  unsigned gpu() const { return gpu_; }
  /// Taken of the GPU's memory.
  std::uint64_t bytes() const { return bytes_; }
  /// Free on the GPU once the index was there.
  std::uint64_t free_bytes() const { return free_bytes_; }
  const Device& device() const { return *device_; }

 private:
  DeviceIndex(const IndexReader& index, const QueryEngine* scores, unsigned gpu, Progress& progress);

  const IndexReader& index_;
  unsigned gpu_;
  std::uint64_t bytes_ = 0, free_bytes_ = 0;
  std::unique_ptr<Device> device_;
};

}  // namespace quern::gpu
