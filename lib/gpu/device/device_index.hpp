#pragma once
#include <cstdint>
#include <memory>

#include "quern/core/resources.hpp"
#include "quern/query/query_engine.hpp"

/// An index in a GPU's memory. Declared without CUDA: in a build without CUDA, constructors throw CudaError.
namespace quern::gpu {

class DeviceIndex {
 public:
  struct Device;  ///< device memory and views; for CUDA sources only

  /// Copies what decoding needs to the GPU with this number: postings and block rows, as they are in the file. Throws
  /// CudaError if the GPU has too little free memory.
  DeviceIndex(const IndexReader& index, unsigned gpu, Progress& progress);
  /// Also copies what scores need: impacts or a constant per document, and static scores.
  DeviceIndex(const QueryEngine& engine, unsigned gpu, Progress& progress);
  DeviceIndex(DeviceIndex&&) noexcept;
  ~DeviceIndex();

  /// Copies the index's block maxima to the GPU as well, unless they are there already.
  void upload_block_maxima(Progress& progress);

  const IndexReader& index() const { return index_; }
  unsigned gpu() const { return gpu_; }
  /// GPU memory that the index takes, in bytes.
  std::uint64_t bytes() const { return bytes_; }
  /// Free GPU memory after the last copy, in bytes.
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
