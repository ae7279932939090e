#pragma once
#include <cstdint>
#include <memory>

#include "quern/core/resources.hpp"
#include "quern/query/query_engine.hpp"

/// An index in a GPU's memory. Declared without CUDA: in a build without it, the constructor throws CudaError.
namespace quern::gpu {

class DeviceIndex {
 public:
  struct Device;  ///< what kernels see; for CUDA sources only

  /// Copies what decoding needs to the GPU of that number: postings and block rows, as they are in the file. Checks the
  /// memory that this takes first; throws CudaError if the GPU has less.
  DeviceIndex(const IndexReader& index, unsigned gpu, Progress& progress);
  /// Copies what scores need too: impacts or a constant for each document, and static scores.
  DeviceIndex(const QueryEngine& engine, unsigned gpu, Progress& progress);
  DeviceIndex(DeviceIndex&&) noexcept;
  ~DeviceIndex();

  /// Copies the index's block maxima to the GPU too, unless they are there already.
  void hold_block_maxima(Progress& progress);

  const IndexReader& index() const { return index_; }
  unsigned gpu() const { return gpu_; }
  /// Bytes of GPU memory in use.
  std::uint64_t bytes() const { return bytes_; }
  /// Bytes free on the GPU after the last copy.
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
