#pragma once
#include <span>

#include "quern/gpu/device/device_memory.cuh"
#include "quern/gpu/store/document_windows.hpp"
#include "quern/gpu/worker/batch_runner.hpp"
#include "quern/gpu/worker/batch_view.cuh"
#include "quern/gpu/worker/strategy.hpp"

namespace quern::gpu {

/// A strategy with its working memory on the device. It runs one batch at a time: BatchRunner calls plan(), fill(),
/// prepare() and run() in this order and, once the GPU has finished, add_times(), unless it went through windows.
class StrategyRun {
 public:
  /// Sizes of the strategy's own arrays that are copied to the GPU with the batch, in bytes.
  struct OwnBytes {
    std::size_t filled = 0;  ///< written by fill()
    std::size_t zeroed = 0;  ///< all zeros
  };
  /// Where these arrays are on the device.
  struct OwnArrays {
    std::uint8_t* filled = nullptr;
    std::uint8_t* zeroed = nullptr;
  };

  StrategyRun() = default;
  StrategyRun(const StrategyRun&) = delete;
  StrategyRun& operator=(const StrategyRun&) = delete;
  virtual ~StrategyRun() = default;

  /// Decides how the batch is answered. Returns the sizes of the strategy's own arrays.
  virtual OwnBytes plan(const QueryBatch& /*batch*/, const BatchWork& /*work*/) { return {}; }
  /// Writes the first of these arrays to host memory.
  virtual void fill(std::uint8_t* /*memory*/) const {}
  /// Reserves and clears working memory. Kernels of another batch may still run.
  virtual void prepare(const OwnArrays& /*arrays*/, const QueryBatch& /*batch*/, const BatchWork& /*work*/,
                       const CudaStream& /*stream*/) {}
  /// Enqueues the kernels that write BatchView::results and num_results, and returns without waiting. `view` is `batch`
  /// on the device.
  virtual void run(const IndexView& index, const BatchView& view, const QueryBatch& batch, const BatchWork& work,
                   const CudaStream& stream) = 0;
  /// For a batch that goes through windows of documents, instead of prepare() and run(): reserves working memory; then
  /// run_window() for one window after another, with its view of the lists in BatchView::lists; and finish_windows(),
  /// which writes the results.
  virtual void prepare_windows(const OwnArrays& /*arrays*/, const QueryBatch& /*batch*/, const BatchWork& /*work*/,
                               const CudaStream& /*stream*/) {}
  virtual void run_window(const IndexView& /*index*/, const BatchView& /*view*/, const WindowLists& /*lists*/,
                          const BatchWork& /*work*/, const CudaStream& /*stream*/) {}
  virtual void finish_windows(const IndexView& /*index*/, const BatchView& /*view*/, const CudaStream& /*stream*/) {}
  /// Frees what batches have reserved. None is running.
  virtual void free_memory() {}
  /// Sets the times of the kernels' steps; the kernels ran between these two events.
  virtual void add_times(const CudaEvent& started, const CudaEvent& ended, BatchTimes& times) const {
    times.unite_us = ended.us_since(started);
  }
  /// What the last batch moved through GPU memory, if it decoded its lists.
  virtual BatchCounts counts() const { return {}; }
};

/// A strategy that answers a window of documents as it answers all of them: it finds the k best documents of the window
/// (BatchView::first_docid to end_docid) for each query, and these are merged with those of the windows before. Only
/// what cannot be among the k best of all may be left out (BatchView::limits).
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
  void prepare_windows(const OwnArrays& arrays, const QueryBatch& batch, const BatchWork& work,
                       const CudaStream& stream) final;
  void run_window(const IndexView& index, const BatchView& view, const WindowLists& lists, const BatchWork& work,
                  const CudaStream& stream) final;
  void free_memory() override;

 protected:
  const DeviceIndex::Device& device() const { return device_; }
  /// Enqueues the kernels that write the results of the view's window. `lists`: BatchView::lists, in host memory.
  /// Called once for all documents, or for one window after another; prepare() has reserved what does not depend on
  /// windows.
  virtual void find(const IndexView& index, const BatchView& view, const QueryBatch& batch,
                    std::span<const ListView> lists, const BatchWork& work, const CudaStream& stream) = 0;

 private:
  const DeviceIndex::Device& device_;
  const QueryBatch* batch_ = nullptr;  ///< that goes through windows
  DeviceArray<RankKey> results_, limits_;
  DeviceArray<std::uint32_t> num_results_;
  bool is_first_ = true;  ///< no window has been answered yet
};

}  // namespace quern::gpu
