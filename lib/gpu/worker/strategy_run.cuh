#pragma once
#include "quern/gpu/device/device_memory.cuh"
#include "quern/gpu/worker/batch_runner.hpp"
#include "quern/gpu/worker/batch_view.cuh"

namespace quern::gpu {

/// A strategy with its working memory on the device. It runs one batch at a time: BatchRunner calls plan(), fill(),
/// prepare(), run() and, after the GPU has finished, add_times().
class StrategyRun {
 public:
  /// Sizes of the strategy's own arrays that are copied to the GPU with the batch, in bytes.
  struct OwnBytes {
    std::size_t filled = 0;  ///< written by fill()
    std::size_t zeroed = 0;  ///< all zeros
  };

  virtual ~StrategyRun() = default;

  /// Decides how to answer the batch. Returns the sizes of the strategy's own arrays.
  virtual OwnBytes plan(const QueryBatch& /*batch*/, const BatchWork& /*work*/) { return {}; }
  /// Writes the filled arrays to host memory. `filled` and `zeroed`: where the arrays will be on the GPU.
  virtual void fill(std::uint8_t* /*host*/, std::uint8_t* /*filled*/, std::uint8_t* /*zeroed*/) {}
  /// Reserves and clears working memory. Kernels of another batch may still run.
  virtual void prepare(const QueryBatch& /*batch*/, const BatchWork& /*work*/) {}
  /// Enqueues the kernels that write BatchView::results and num_results. `view` is `batch` on the device.
  virtual void run(const IndexView& index, const BatchView& view, const QueryBatch& batch, const BatchWork& work,
                   const CudaStream& stream) = 0;
  /// For a batch that runs in windows, BatchRunner calls prepare_windows(), which reserves working memory, run_window()
  /// for each window, with its view of the lists in BatchView::lists, and finish_windows(), which writes the results,
  /// instead of prepare(), run() and add_times().
  virtual void prepare_windows(const QueryBatch& /*batch*/, const BatchWork& /*work*/, const CudaStream& /*stream*/) {}
  virtual void run_window(const IndexView& /*index*/, const BatchView& /*view*/, const WindowLists& /*lists*/,
                          const BatchWork& /*work*/, const CudaStream& /*stream*/) {}
  virtual void finish_windows(const IndexView& /*index*/, const BatchView& /*view*/, const CudaStream& /*stream*/) {}
  /// Frees the memory of batches. None may be running.
  virtual void free_memory() {}
  /// Sets the times of the kernels' steps, which ran between these two events.
  virtual void add_times(const CudaEvent& started, const CudaEvent& ended, BatchTimes& times) const {
    times.unite_us = ended.us_since(started);
  }
  /// The last batch's traffic in GPU memory, if it decoded lists.
  virtual BatchCounts counts() const { return {}; }
};

/// A strategy that answers a window like the whole collection: it finds the k best documents of the window
/// (BatchView::first_docid to end_docid) for each query, which are merged with those of earlier windows. It may skip
/// documents that can't be among the k best of all (BatchView::limits).
class WindowedRun : public StrategyRun {
 public:
  WindowedRun(const DeviceIndex& index, MemoryAccount& account)
      : device_(index.device()),
        results_(account, MemoryUse::working),
        limits_(account, MemoryUse::working),
        num_results_(account, MemoryUse::working) {}

  void run(const IndexView& index, const BatchView& view, const QueryBatch& batch, const BatchWork& work,
           const CudaStream& stream) final {
    find(index, view, batch, batch.lists, work, stream);
  }
  void prepare_windows(const QueryBatch& batch, const BatchWork& work, const CudaStream& stream) final;
  void run_window(const IndexView& index, const BatchView& view, const WindowLists& lists, const BatchWork& work,
                  const CudaStream& stream) final;
  void free_memory() override;

 protected:
  const DeviceIndex::Device& device() const { return device_; }
  /// Enqueues the kernels that write the results of the view's window. `lists`: BatchView::lists, in host memory.
  /// Called once for all documents, or for each window; prepare() has reserved memory.
  virtual void find(const IndexView& index, const BatchView& view, const QueryBatch& batch,
                    std::span<const ListView> lists, const BatchWork& work, const CudaStream& stream) = 0;

 private:
  const DeviceIndex::Device& device_;
  const QueryBatch* batch_ = nullptr;  ///< the batch that runs in windows
  DeviceArray<RankKey> results_, limits_;
  DeviceArray<std::uint32_t> num_results_;
  bool is_first_ = true;  ///< no window has been answered yet
};

}  // namespace quern::gpu
