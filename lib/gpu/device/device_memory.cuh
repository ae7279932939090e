#pragma once
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "quern/core/error.hpp"
#include "quern/gpu/device/device_index.hpp"
#include "quern/gpu/device/index_view.hpp"
#include "quern/gpu/device/memory_division.hpp"

/// Errors of CUDA calls, owners of the CUDA runtime's resources, and copies. For CUDA sources only; kernels take plain
/// pointers.
namespace quern {

/// Throws CudaError "CALL failed at FILE:LINE: reason" unless `status` is success; GpuOutOfMemory if memory is short.
inline void check_cuda(cudaError_t status, const char* call, const char* file, int line) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // otherwise the next call would report the error again
  const std::string text = std::string(call) + " failed at " + file + ":" + std::to_string(line) + ": " +
                           cudaGetErrorString(status) + " (" + cudaGetErrorName(status) + ")";
  if (status == cudaErrorMemoryAllocation) throw GpuOutOfMemory(text);
  throw CudaError(text);
}

}  // namespace quern

#define CUDA_CHECK(call) ::quern::check_cuda((call), #call, __FILE__, __LINE__)

namespace quern::gpu {

/// Owns uninitialised memory for `size` elements, which `Allocation` allocates and an account counts. Throws
/// GpuOutOfMemory.
template <class T, class Allocation>
class OwnedArray {
 public:
  OwnedArray() = default;
  explicit OwnedArray(std::size_t size) { allocate(size); }
  /// Makes an empty array. `account` counts its memory, and must outlive it.
  OwnedArray(MemoryAccount& account, MemoryUse use) : account_(&account), use_(use) {}
  OwnedArray(MemoryAccount& account, MemoryUse use, std::size_t size) : OwnedArray(account, use) { allocate(size); }
  OwnedArray(OwnedArray&& other) noexcept { *this = std::move(other); }
  OwnedArray& operator=(OwnedArray&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(account_, other.account_);
    std::swap(use_, other.use_);
    return *this;
  }
  ~OwnedArray() { release(); }

  T* data() const { return data_; }
  std::size_t size() const { return size_; }
  std::size_t size_bytes() const { return size_ * sizeof(T); }
  /// Grows to at least `size` elements, and a quarter more if there is memory. Growing loses the contents.
  void reserve(std::size_t size) {
    if (size <= size_) return;
    release();
    try {
      allocate(size + size / 4);
    } catch (const GpuOutOfMemory&) {
      allocate(size);
    }
  }
  /// Frees the memory.
  void release() noexcept {
    if (data_ == nullptr) return;
    Allocation::free(data_);
    if (account_ != nullptr) account_->give_back(use_, size_bytes());
    data_ = nullptr;
    size_ = 0;
  }

 private:
  void allocate(std::size_t size) {
    if (size == 0) return;
    if (account_ != nullptr) account_->take(use_, size * sizeof(T));
    try {
      data_ = static_cast<T*>(Allocation::allocate(size * sizeof(T)));
    } catch (...) {
      if (account_ != nullptr) account_->give_back(use_, size * sizeof(T));
      throw;
    }
    size_ = size;
  }

  T* data_ = nullptr;
  std::size_t size_ = 0;
  MemoryAccount* account_ = nullptr;
  MemoryUse use_ = MemoryUse::working;
};

struct DeviceAllocation {
  static void* allocate(std::size_t bytes) {
    void* memory = nullptr;
    CUDA_CHECK(cudaMalloc(&memory, bytes));
    return memory;
  }
  static void free(void* memory) { cudaFree(memory); }
};
struct PinnedAllocation {
  static void* allocate(std::size_t bytes) {
    void* memory = nullptr;
    CUDA_CHECK(cudaMallocHost(&memory, bytes));
    return memory;
  }
  static void free(void* memory) { cudaFreeHost(memory); }
};

/// Memory of the current device.
template <class T>
using DeviceArray = OwnedArray<T, DeviceAllocation>;
/// Page-locked host memory, for asynchronous copies.
template <class T>
using PinnedArray = OwnedArray<T, PinnedAllocation>;

/// A CUDA stream: a queue of device work that runs in order.
class CudaStream {
 public:
  enum class Priority : std::uint8_t { normal, high };

  /// Thread blocks of a high-priority stream start before waiting ones of other streams.
  explicit CudaStream(Priority priority = Priority::normal) {
    int least = 0, greatest = 0;
    CUDA_CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    CUDA_CHECK(
        cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, priority == Priority::high ? greatest : least));
  }
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;
  ~CudaStream() { cudaStreamDestroy(stream_); }
  operator cudaStream_t() const { return stream_; }
  void wait() const { CUDA_CHECK(cudaStreamSynchronize(stream_)); }

 private:
  cudaStream_t stream_ = nullptr;
};

/// Waits for a stream at the end of a scope, even after an exception, since its work uses memory that others own.
class StreamEnd {
 public:
  explicit StreamEnd(const CudaStream& stream) : stream_(stream) {}
  StreamEnd(const StreamEnd&) = delete;
  StreamEnd& operator=(const StreamEnd&) = delete;
  ~StreamEnd() { cudaStreamSynchronize(stream_); }

 private:
  const CudaStream& stream_;
};

/// A CUDA event: a point in a stream, to wait for or to measure times from.
class CudaEvent {
 public:
  CudaEvent() { CUDA_CHECK(cudaEventCreate(&event_)); }
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;
  ~CudaEvent() { cudaEventDestroy(event_); }
  void record(const CudaStream& stream) const { CUDA_CHECK(cudaEventRecord(event_, stream)); }
  void wait() const { CUDA_CHECK(cudaEventSynchronize(event_)); }
  cudaEvent_t handle() const { return event_; }
  /// Microseconds from `begin` to this event, both of which must have completed.
  double us_since(const CudaEvent& begin) const {
    float ms = 0;
    CUDA_CHECK(cudaEventElapsedTime(&ms, begin.event_, event_));
    return 1000.0 * ms;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

/// Copies asynchronously, but reads pageable host memory before returning.
template <class T>
void copy_to_device(T* to, const T* from, std::size_t count, const CudaStream& stream) {
  if (count > 0) CUDA_CHECK(cudaMemcpyAsync(to, from, count * sizeof(T), cudaMemcpyHostToDevice, stream));
}
template <class T>
void copy_to_host(T* to, const T* from, std::size_t count, const CudaStream& stream) {
  if (count > 0) CUDA_CHECK(cudaMemcpyAsync(to, from, count * sizeof(T), cudaMemcpyDeviceToHost, stream));
}
template <class T>
void fill_zero(T* to, std::size_t count, const CudaStream& stream) {
  if (count > 0) CUDA_CHECK(cudaMemsetAsync(to, 0, count * sizeof(T), stream));
}

/// Offsets of several arrays in one allocation, so that a single copy moves them all.
class ArrayLayout {
 public:
  /// Appends an array of `count` elements; returns its offset in bytes.
  template <class T>
  std::size_t add(std::size_t count) {
    const std::size_t begin = (bytes_ + 255) / 256 * 256;
    bytes_ = begin + count * sizeof(T);
    return begin;
  }
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_ = 0;
};

/// Copies an array to its offset in a layout.
template <class T>
void put(std::uint8_t* memory, std::size_t offset, const std::vector<T>& elements) {
  if (!elements.empty()) std::memcpy(memory + offset, elements.data(), elements.size() * sizeof(T));
}

/// The array at an offset of a layout.
template <class T>
T* at(std::uint8_t* memory, std::size_t offset) {
  return reinterpret_cast<T*>(memory + offset);
}

// Measures a stream's work without its waits. For CUDA sources only.

/// Adds up the times of steps between begin() and end(). The stream must wait for others outside of steps. For one
/// thread at a time.
class StepClock {
 public:
  /// Forgets all steps, which must have ended.
  void clear() { steps_ = 0; }
  void begin(const CudaStream& stream) {
    if (steps_ == events_.size()) events_.emplace_back();
    events_[steps_].begun.record(stream);
  }
  void end(const CudaStream& stream) { events_[steps_++].ended.record(stream); }
  /// GPU time of all steps since clear(), which must have ended, in microseconds.
  double us() const {
    double sum = 0;
    for (std::size_t i = 0; i < steps_; ++i) sum += events_[i].ended.us_since(events_[i].begun);
    return sum;
  }

 private:
  struct Step {
    CudaEvent begun, ended;
  };

  std::deque<Step> events_;  ///< kept after clear(), since making events takes time
  std::size_t steps_ = 0;
};

struct DeviceIndex::Device {
  DeviceArray<std::uint32_t> postings, block_last, block_offset, impacts;
  DeviceArray<std::uint16_t> block_max;
  DeviceArray<float> constants, upper_bounds;
  DeviceArray<float> static_scores;                           ///< see IndexView
  DeviceArray<float> range_static_score, range_upper_bounds;  ///< see RangeView; empty without static scores
  std::uint64_t scratch_words = 0;                            ///< size of IndexView::scratch for this index
  Coding coding = Coding::newpfd;
  bool quantized = false;
  IndexView view;
};

}  // namespace quern::gpu
