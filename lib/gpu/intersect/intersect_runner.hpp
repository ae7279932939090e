#pragma once
#include "quern/gpu/intersect/intersect_batch.hpp"
#include "quern/gpu/store/list_store.hpp"

/// Runs batches of intersections on a GPU. Declared without CUDA, like DeviceIndex.
namespace quern::gpu {

/// How to answer a batch.
struct IntersectWork {
  IntersectKernels kernels = IntersectKernels::warps;
  unsigned levels = 0;  ///< of merge-find
  ResultTransfer transfer = ResultTransfer::packed;
};

/// A batch's times by the GPU's clock, in microseconds.
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

struct UnpackCounts {
  std::uint64_t lists = 0, postings = 0;
  std::uint64_t bytes = 0;  ///< directories included

  void add(const IntersectArrays& batch) {
    lists += batch.unpack.size();
    for (const UnpackTask& task : batch.unpack) postings += task.postings;
    bytes += sizeof(std::uint32_t) * batch.unpack_words;
  }
  UnpackCounts& operator+=(const UnpackCounts& other) {
    return add_members(*this, other, &UnpackCounts::lists, &UnpackCounts::postings, &UnpackCounts::bytes);
  }
};

/// The results of all windows of a batch.
struct WindowedAnswers {
  std::vector<std::vector<docid_t>> documents;  ///< by query, in the order of adding
  UnpackCounts unpacked;                        ///< counts a list once per window
};

/// Runs one batch at a time in its own stream, so that two runners overlap. Throws CudaError if the GPU fails,
/// CorruptFile if blocks don't decode; unpacked lists are invalid after that.
class IntersectRunner {
 public:
  virtual ~IntersectRunner() = default;

  /// Enqueues the batch and returns. Its kernels wait for those of `after`, the runner of the previous batch unless it
  /// is this one, since they may use lists that these unpack. `unpacked`: the GPU's memory for unpacked lists.
  virtual void start(const IntersectArrays& batch, const IntersectWork& work, std::uint32_t* unpacked,
                     const IntersectRunner* after) = 0;
  /// Answers a batch window by window, and copies the next window's words meanwhile. Returns when the last window is
  /// started. The store may do nothing else meanwhile, and its open_windows() must have been called. Any thread may
  /// call this. `after`: see start(). Throws like start() and wait().
  virtual void run_windows(const WindowedBatch& batch, const IntersectWork& work, std::uint32_t* unpacked,
                           DeviceListStore& store, unsigned flight, const IntersectRunner* after) = 0;
  /// Waits until the last window is answered. Throws like wait().
  virtual WindowedAnswers wait_for_windows() = 0;
  /// Waits until the batch's kernels have ended, and so no longer read lists.
  virtual void wait_for_kernels() = 0;
  /// Frees the memory of batches. None may be running.
  virtual void free_memory() = 0;
  /// The peak GPU memory of batches, by use.
  virtual const MemoryTable& memory() const = 0;
  /// Waits for the batch. Returns its queries' documents in the order of IntersectArrays::queries, valid until the next
  /// start(). Throws GpuOutOfMemory if they exceed the pinned memory; the batch's kernels have then ended.
  virtual std::vector<std::span<const docid_t>> wait() = 0;
  /// Waits for the current batch and drops its results and errors. If the GPU still works, start() may be called again.
  virtual void abandon() noexcept = 0;
  /// Times of the last batch, or of all its windows, after wait() or wait_for_windows().
  virtual const IntersectTimes& times() const = 0;
};

/// `store`: the lists', null if the index holds all. Both must outlive the runner, which allocates at most `max_bytes`
/// of GPU memory.
std::unique_ptr<IntersectRunner> make_intersect_runner(const DeviceIndex& index, const DeviceListStore* store,
                                                       std::uint64_t max_bytes);

}  // namespace quern::gpu
