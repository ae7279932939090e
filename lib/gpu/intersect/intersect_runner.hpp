#pragma once
#include <memory>
#include <span>
#include <vector>

#include "quern/gpu/device/device_index.hpp"
#include "quern/gpu/device/gpu_statistics.hpp"
#include "quern/gpu/intersect/intersect_batch.hpp"
#include "quern/gpu/store/list_store.hpp"

/// Runs batches of intersections on a GPU. Declared without CUDA, as DeviceIndex is.
namespace quern::gpu {

/// What a GPU does with a batch.
struct IntersectWork {
  IntersectKernels kernels = IntersectKernels::warps;
  unsigned levels = 0;  ///< of merge-find
  ResultTransfer transfer = ResultTransfer::packed;
};

/// Where a batch's time went, in microseconds of the GPU's clock.
struct IntersectTimes {
  double upload_us = 0;
  double unpack_us = 0;
  double directory_us = 0;  ///< of buckets
  double intersect_us = 0;
  double pack_us = 0;
  double download_us = 0;

  double kernels_us() const { return unpack_us + directory_us + intersect_us + pack_us; }
  IntersectTimes& operator+=(const IntersectTimes& other) {
    using T = IntersectTimes;
    return add_members(*this, other, &T::upload_us, &T::unpack_us, &T::directory_us, &T::intersect_us, &T::pack_us,
                       &T::download_us);
  }
};

/// Lists that were unpacked.
struct UnpackCounts {
  std::uint64_t lists = 0, postings = 0;
  std::uint64_t bytes = 0;  ///< with directories

  void add(const IntersectArrays& batch) {
    lists += batch.unpack.size();
    for (const UnpackTask& task : batch.unpack) postings += task.postings;
    bytes += sizeof(std::uint32_t) * batch.unpack_words;
  }
};

/// What a batch that went by windows of documents found, in all windows together.
struct WindowedAnswers {
  std::vector<std::vector<docid_t>> documents;  ///< of each query, in the order in which they were added
  UnpackCounts unpacked;                        ///< a list in each window
};

/// Memory for unpacked lists on the index's GPU, shared by all runners. Throws CudaError if the GPU has too little.
class UnpackedMemory {
 public:
  struct Device;  ///< only in CUDA sources

  /// May take as much as a batch: DeviceIndex::bytes_per_batch().
  UnpackedMemory(const DeviceIndex& index, std::uint64_t words);
  UnpackedMemory(UnpackedMemory&&) noexcept;
  UnpackedMemory& operator=(UnpackedMemory&&) noexcept;
  ~UnpackedMemory();
  const Device& device() const { return *device_; }

 private:
  std::unique_ptr<Device> device_;
};

/// Runs one batch at a time in its own stream. With two runners, one batch is copied while the other is answered.
/// Throws CudaError if the GPU fails, CorruptFile if blocks don't decode; unpacked lists must not be used after that.
class IntersectRunner {
 public:
  /// `store`: of the lists, null if the index has them all. May take `max_bytes` of GPU memory.
  IntersectRunner(const DeviceIndex& index, const DeviceListStore* store, std::uint64_t max_bytes);
  IntersectRunner(IntersectRunner&&) noexcept;
  ~IntersectRunner();

  /// Enqueues the batch and returns. Its kernels wait for those of `after`, the runner that started the batch before,
  /// unless that is this one: the lists that it unpacks may be used.
  void start(const IntersectArrays& batch, const IntersectWork& work, const UnpackedMemory& unpacked,
             const IntersectRunner* after = nullptr);
  /// Answers a batch window by window: copies the next window's words while one is answered. Returns when the last has
  /// been started. Takes the place of what the store does for other batches; the flight must have open_windows(). May
  /// be called by another thread. `after`: as in start(). Throws as start() and wait() do.
  void run_windows(const WindowedBatch& batch, const IntersectWork& work, const UnpackedMemory& unpacked,
                   DeviceListStore& store, unsigned flight, const IntersectRunner* after);
  /// Waits until the last window has been answered. Throws as wait() does.
  WindowedAnswers wait_for_windows();
  /// Waits until the batch's kernels have ended: then it reads no lists any more.
  void wait_for_kernels();
  /// Frees what batches have reserved. None may be running.
  void free_memory();
  /// The most GPU memory that batches took, by its use.
  const MemoryTable& memory() const;
  /// Waits until the batch has finished. Returns its queries' documents, in the order of IntersectArrays::queries; they
  /// are valid until the next start(). Throws GpuOutOfMemory if they do not fit into what may be pinned; the batch's
  /// kernels have then ended.
  std::vector<std::span<const docid_t>> wait();
  /// Waits for the current batch and drops its results and errors. If the GPU still works, start() can be called again.
  void abandon() noexcept;
  /// Times of the last batch, of all windows if it went by these, after wait() or wait_for_windows().
  const IntersectTimes& times() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace quern::gpu
