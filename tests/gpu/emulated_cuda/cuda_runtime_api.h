#pragma once
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include "gpu/emulated_gpu.hpp"

/// The calls of CUDA's runtime that the library makes, for an emulated GPU: all of them, and launches, end before they
/// return. Replaces the header of this name.
enum cudaError_t { cudaSuccess, cudaErrorMemoryAllocation, cudaErrorInsufficientDriver, cudaErrorNoDevice };
enum cudaDeviceAttr {
  cudaDevAttrMultiProcessorCount,
  cudaDevAttrClockRate,
  cudaDevAttrHostRegisterReadOnlySupported,
  cudaDevAttrCanUseHostPointerForRegisteredMem
};
enum { cudaStreamNonBlocking, cudaFuncAttributeMaxDynamicSharedMemorySize, cudaMemoryTypeHost };
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice };
enum : unsigned { cudaHostRegisterPortable = 1, cudaHostRegisterMapped = 2, cudaHostRegisterReadOnly = 8 };
struct cudaDeviceProp {
  char name[32] = "emulated GPU";
  int major = 8, minor = 0, multiProcessorCount = 2, maxThreadsPerMultiProcessor = 1024;
  std::size_t totalGlobalMem = 0;
};
struct cudaPointerAttributes {
  int type = cudaMemoryTypeHost;
};
using cudaStream_t = void*;
using cudaEvent_t = std::chrono::steady_clock::time_point*;

namespace quern::testing::emulated {

inline constexpr std::size_t memory_bytes = std::size_t{4} << 30;

/// Allocations of device memory, of several host threads.
class DeviceMemory {
 public:
  static DeviceMemory& get() {
    static DeviceMemory memory;
    return memory;
  }
  std::size_t taken() const { return taken_; }
  /// The most bytes since reset_peak().
  std::size_t peak() const { return peak_; }
  void reset_peak() { peak_ = taken(); }
  void* allocate(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (bytes > memory_bytes - taken_) return nullptr;
    void* const memory = std::malloc(bytes);
    std::memset(memory, 0xcd, bytes);
    sizes_[memory] = bytes;
    taken_ += bytes;
    peak_ = std::max<std::size_t>(peak_, taken_);
    return memory;
  }
  void free(void* memory) {
    const std::lock_guard lock(mutex_);
    taken_ -= sizes_[memory];
    sizes_.erase(memory);
    std::free(memory);
  }

 private:
  std::mutex mutex_;
  std::map<void*, std::size_t> sizes_;
  std::atomic<std::size_t> taken_ = 0, peak_ = 0;
};

inline std::mutex kernel_running;

/// Runs a kernel. Host threads take turns.
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), unsigned blocks, unsigned threads, const Arguments&... arguments) {
  const std::lock_guard lock(kernel_running);
  run(blocks, threads, [&] { kernel(arguments...); });
}

}  // namespace quern::testing::emulated

inline cudaError_t cudaSetDevice(int) { return cudaSuccess; }
inline cudaError_t cudaGetLastError() { return cudaSuccess; }
inline const char* cudaGetErrorString(cudaError_t) { return "an error"; }
inline const char* cudaGetErrorName(cudaError_t) { return "cudaError"; }
template <class Number>
cudaError_t set_number(Number* to, Number value) {
  *to = value;
  return cudaSuccess;
}
inline cudaError_t cudaGetDeviceCount(int* count) { return set_number(count, 1); }
inline cudaError_t cudaGetDevice(int* number) { return set_number(number, 0); }
inline cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr name, int) {
  return set_number(value, name == cudaDevAttrMultiProcessorCount ? cudaDeviceProp().multiProcessorCount : 1);
}
inline cudaError_t cudaDeviceGetPCIBusId(char* id, int size, int) {
  std::strncpy(id, "0000:00:00.0", static_cast<std::size_t>(size));
  return cudaSuccess;
}
inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  *properties = {};
  properties->totalGlobalMem = quern::testing::emulated::memory_bytes;
  return cudaSuccess;
}
inline cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return *least = *greatest = 0, cudaSuccess;
}
inline cudaError_t cudaStreamCreateWithPriority(cudaStream_t*, int, int) { return cudaSuccess; }
inline cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
inline cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
inline cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t) { return cudaSuccess; }
inline cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return set_number(event, new std::chrono::steady_clock::time_point);
}
inline cudaError_t cudaEventDestroy(cudaEvent_t event) { return delete event, cudaSuccess; }
inline cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
  *event = std::chrono::steady_clock::now();
  return cudaSuccess;
}
inline cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
inline cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t begin, cudaEvent_t end) {
  return set_number(ms, std::chrono::duration<float, std::milli>(*end - *begin).count());
}
inline cudaError_t cudaFuncSetAttribute(const void*, int, int) { return cudaSuccess; }
inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*, int, std::size_t) {
  return set_number(blocks, 1);
}
inline cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void*) {
  return set_number(attributes, {});
}
inline cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  *memory = quern::testing::emulated::DeviceMemory::get().allocate(bytes);
  return *memory != nullptr ? cudaSuccess : cudaErrorMemoryAllocation;
}
inline cudaError_t cudaFree(void* memory) {
  return quern::testing::emulated::DeviceMemory::get().free(memory), cudaSuccess;
}
inline cudaError_t cudaMallocHost(void** memory, std::size_t bytes) { return set_number(memory, std::malloc(bytes)); }
inline cudaError_t cudaFreeHost(void* memory) { return std::free(memory), cudaSuccess; }
inline cudaError_t cudaMemGetInfo(std::size_t* free_bytes, std::size_t* all) {
  *all = quern::testing::emulated::memory_bytes;
  return set_number(free_bytes, *all - quern::testing::emulated::DeviceMemory::get().taken());
}
inline cudaError_t cudaHostRegister(void*, std::size_t, unsigned) { return cudaSuccess; }
inline cudaError_t cudaHostUnregister(void*) { return cudaSuccess; }
inline cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
  return std::memcpy(to, from, bytes), cudaSuccess;
}
inline cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind, cudaStream_t) {
  return std::memcpy(to, from, bytes), cudaSuccess;
}
inline cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                                     std::size_t bytes, std::size_t rows, cudaMemcpyKind, cudaStream_t) {
  for (std::size_t row = 0; row < rows; ++row)
    std::memcpy(static_cast<char*>(to) + row * to_pitch, static_cast<const char*>(from) + row * from_pitch, bytes);
  return cudaSuccess;
}
inline cudaError_t cudaMemset(void* to, int value, std::size_t bytes) {
  return std::memset(to, value, bytes), cudaSuccess;
}
inline cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t) {
  return std::memset(to, value, bytes), cudaSuccess;
}
