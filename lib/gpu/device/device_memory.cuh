#pragma once
#include <cuda_runtime_api.h>

#include <cstddef>
#include <span>
#include <utility>

#include "quern/gpu/device/cuda_check.hpp"

/// Owners of the CUDA runtime's resources. Kernels take plain pointers.
namespace quern::gpu {

/// Memory of the current device for `size` elements, not initialised. Throws CudaError if there is not enough.
template <class T>
class DeviceArray {
 public:
  DeviceArray() = default;
  explicit DeviceArray(std::size_t size) : size_(size) {
    if (size > 0) CUDA_CHECK(cudaMalloc(&data_, size * sizeof(T)));
  }
  DeviceArray(DeviceArray&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  DeviceArray& operator=(DeviceArray&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~DeviceArray() { cudaFree(data_); }

  T* data() const { return data_; }
  std::size_t size() const { return size_; }
  std::size_t size_bytes() const { return size_ * sizeof(T); }
  /// Grows to at least `size` elements; the contents are lost if it grows.
  void reserve(std::size_t size) {
    if (size > size_) *this = DeviceArray(), *this = DeviceArray(size + size / 4);
  }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Page-locked host memory: copies from and to it run while the host continues.
template <class T>
class PinnedArray {
 public:
  PinnedArray() = default;
  explicit PinnedArray(std::size_t size) : size_(size) {
    if (size > 0) CUDA_CHECK(cudaMallocHost(&data_, size * sizeof(T)));
  }
  PinnedArray(PinnedArray&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  PinnedArray& operator=(PinnedArray&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~PinnedArray() { cudaFreeHost(data_); }

  T* data() const { return data_; }
  std::size_t size() const { return size_; }
  void reserve(std::size_t size) {
    if (size > size_) *this = PinnedArray(), *this = PinnedArray(size + size / 4);
  }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

/// A queue of device work, done in order.
class Stream {
 public:
  Stream() { CUDA_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { cudaStreamDestroy(stream_); }
  operator cudaStream_t() const { return stream_; }
  void wait() const { CUDA_CHECK(cudaStreamSynchronize(stream_)); }

 private:
  cudaStream_t stream_ = nullptr;
};

/// A mark in a stream; the time between two of them.
class Event {
 public:
  Event() { CUDA_CHECK(cudaEventCreate(&event_)); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { cudaEventDestroy(event_); }
  void record(const Stream& stream) const { CUDA_CHECK(cudaEventRecord(event_, stream)); }
  void wait() const { CUDA_CHECK(cudaEventSynchronize(event_)); }
  cudaEvent_t handle() const { return event_; }
  /// Microseconds from `begin` to this event; both have been reached.
  double us_since(const Event& begin) const {
    float ms = 0;
    CUDA_CHECK(cudaEventElapsedTime(&ms, begin.event_, event_));
    return 1000.0 * ms;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

/// Copies without waiting; pageable host memory is read before this returns.
template <class T>
void copy_to_device(T* to, const T* from, std::size_t count, const Stream& stream) {
  if (count > 0) CUDA_CHECK(cudaMemcpyAsync(to, from, count * sizeof(T), cudaMemcpyHostToDevice, stream));
}
template <class T>
void copy_to_host(T* to, const T* from, std::size_t count, const Stream& stream) {
  if (count > 0) CUDA_CHECK(cudaMemcpyAsync(to, from, count * sizeof(T), cudaMemcpyDeviceToHost, stream));
}
template <class T>
void fill_zero(T* to, std::size_t count, const Stream& stream) {
  if (count > 0) CUDA_CHECK(cudaMemsetAsync(to, 0, count * sizeof(T), stream));
}

}  // namespace quern::gpu
