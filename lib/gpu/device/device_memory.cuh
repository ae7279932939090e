#pragma once
#include <cuda_runtime_api.h>

#include <cstring>
#include <deque>
#include <map>
#include <tuple>
#include <type_traits>

#include "quern/gpu/device/device_index.hpp"
#include "quern/gpu/device/index_view.hpp"

/// Errors of CUDA calls, owners of streams and events, launches and copies. For CUDA sources only; kernels take
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

/// The time that the GPU takes for what work() enqueues in a stream, in microseconds.
template <class Work>
double time_us(const CudaStream& stream, const Work& work) {
  const CudaEvent begun, ended;
  begun.record(stream);
  work();
  ended.record(stream);
  ended.wait();
  return ended.us_since(begun);
}

/// Launches a kernel with `shared_bytes` of dynamic shared memory.
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), unsigned blocks, unsigned threads, [[maybe_unused]] std::size_t shared_bytes,
            [[maybe_unused]] cudaStream_t stream, const Arguments&... arguments) {
#ifdef __CUDACC__
  kernel<<<blocks, threads, shared_bytes, stream>>>(arguments...);
#else
  testing::emulated::launch(kernel, blocks, threads, arguments...);
#endif
  CUDA_CHECK(cudaGetLastError());
}

/// Resident thread blocks of a kernel on the current device, cached since the query is slow. Thread-safe.
inline unsigned all_resident_blocks(const void* kernel, unsigned threads, std::size_t shared_bytes) {
  using Launch = std::tuple<const void*, int, unsigned, std::size_t>;  // kernel, device, threads, shared bytes
  static std::mutex mutex;
  static std::map<Launch, unsigned> known;
  // Dynamic shared memory allowed so far, per kernel and device.
  static std::map<std::pair<const void*, int>, std::size_t> allowed;
  int device = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  const std::lock_guard lock(mutex);
  unsigned& resident = known[{kernel, device, threads, shared_bytes}];
  if (resident > 0) return resident;
  std::size_t& shared = allowed[{kernel, device}];
  if (shared_bytes > shared) {
    CUDA_CHECK(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes)));
    shared = shared_bytes;
  }
  int multiprocessors = 0, blocks = 0;
  CUDA_CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, static_cast<int>(threads), shared_bytes));
  return resident = static_cast<unsigned>(multiprocessors * std::max(blocks, 1));
}

/// The number of a kernel's thread blocks that run at the same time, which is enough for launches that take work from a
/// queue or divide it evenly. `left_free`: number of thread blocks left to other kernels.
template <class Kernel>
unsigned resident_blocks(Kernel kernel, unsigned threads, std::size_t shared_bytes, unsigned left_free = 0) {
  const unsigned all = all_resident_blocks(reinterpret_cast<const void*>(kernel), threads, shared_bytes);
  return all > left_free ? all - left_free : 1;
}

/// Launches a kernel without dynamic shared memory in resident_blocks() thread blocks.
template <class... Parameters, class... Arguments>
void launch_resident(void (*kernel)(Parameters...), unsigned threads, unsigned left_free, cudaStream_t stream,
                     const Arguments&... arguments) {
  launch(kernel, resident_blocks(kernel, threads, 0, left_free), threads, 0, stream, arguments...);
}

/// Zeros after arrays of coded words, since kernels read past the end of a damaged block by at most this much.
inline constexpr std::size_t over_read_words = 4096;

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

/// The layout of several vectors: arrays(visit) calls visit(vector, pointer to its elements in a view) for each.
template <class Arrays>
ArrayLayout layout_of(const Arrays& arrays) {
  ArrayLayout layout;
  arrays([&](const auto& vector, auto&) {
    layout.add<typename std::remove_cvref_t<decltype(vector)>::value_type>(vector.size());
  });
  return layout;
}
/// Copies these vectors to host memory with this layout, and sets the pointers to where they go on the GPU.
template <class Arrays>
void put_all(const Arrays& arrays, std::uint8_t* host, std::uint8_t* on_gpu) {
  ArrayLayout layout;
  arrays([&](const auto& vector, auto& pointer) {
    using T = typename std::remove_cvref_t<decltype(vector)>::value_type;
    const std::size_t offset = layout.add<T>(vector.size());
    put(host, offset, vector);
    pointer = at<T>(on_gpu, offset);
  });
}

/// Copies to a GPU through two pinned buffers: one is filled while the other is copied.
class Uploader {
 public:
  /// Copies at most `buffer_bytes` bytes at a time.
  Uploader(MemoryAccount& pinned, std::size_t buffer_bytes, Progress& progress)
      : progress_(progress), buffer_bytes_(buffer_bytes) {
    for (Buffer& buffer : buffers_) buffer.memory = PinnedArray<std::uint8_t>(pinned, MemoryUse::pinned, buffer_bytes);
  }

  /// Copies `bytes` bytes, which read(first, count) returns in parts.
  template <class Read>
  void copy(void* to, std::uint64_t bytes, const Read& read) {
    for (std::uint64_t at = 0; at < bytes; at += buffer_bytes_) {
      const std::size_t size = std::min<std::uint64_t>(buffer_bytes_, bytes - at);
      Buffer& buffer = buffers_[next_++ % 2];
      buffer.done.wait();
      std::memcpy(buffer.memory.data(), read(at, size), size);
      copy_to_device(static_cast<std::uint8_t*>(to) + at, buffer.memory.data(), size, stream_);
      buffer.done.record(stream_);
      progress_.add(size);
    }
  }
  /// Copies an array to new memory, followed by zeros.
  template <class T>
  DeviceArray<T> upload(MemoryAccount& account, MemoryUse use, std::span<const T> from, std::size_t zeros_after = 0) {
    DeviceArray<T> to(account, use, from.size() + zeros_after);
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(from.data());
    copy(to.data(), from.size_bytes(), [&](std::uint64_t first, std::size_t) { return bytes + first; });
    fill_zero(to.data() + from.size(), zeros_after, stream_);
    return to;
  }
  void wait() const { stream_.wait(); }

 private:
  struct Buffer {
    PinnedArray<std::uint8_t> memory;
    CudaEvent done;
  };
  Progress& progress_;
  std::size_t buffer_bytes_;
  CudaStream stream_;
  Buffer buffers_[2];
  std::size_t next_ = 0;
  StreamEnd end_{stream_};
};

/// Adds up the times between begin() and end(), during which the stream must not wait. For one thread at a time.
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
  Coding coding = Coding::maskpfd;
  bool quantized = false;
  IndexView view;
};

}  // namespace quern::gpu
