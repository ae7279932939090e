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

  /// Copies what answering needs to the GPU of that number: postings, block rows and impacts as they stand in the file,
  /// and a constant for each document. Says before how much memory that takes; throws CudaError where the GPU has less.
  DeviceIndex(const QueryEngine& engine, unsigned gpu, Progress& progress);
  DeviceIndex(DeviceIndex&&) noexcept;
  ~DeviceIndex();

  /// Copies the index's block maxima to the GPU too, unless they are there.
  void hold_block_maxima(Progress& progress);

  const QueryEngine& engine() const { return engine_; }
  unsigned gpu() const { return gpu_; }
  /// Taken of the GPU's memory.
  std::uint64_t bytes() const { return bytes_; }
  /// Free on the GPU once the index was there.
  std::uint64_t free_bytes() const { return free_bytes_; }
  const Device& device() const { return *device_; }

 private:
  const QueryEngine& engine_;
  unsigned gpu_;
  std::uint64_t bytes_ = 0, free_bytes_ = 0;
  std::unique_ptr<Device> device_;
};

}  // namespace quern::gpu
