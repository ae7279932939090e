#pragma once
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
                       const Stream& /*stream*/) {}
  /// Enqueues the kernels that write BatchView::results and num_results, and returns without waiting. `view` is `batch`
  /// on the device.
  virtual void run(const IndexView& index, const BatchView& view, const QueryBatch& batch, const BatchWork& work,
                   const Stream& stream) = 0;
  /// For a batch that goes through windows of documents, instead of prepare() and run(): reserves working memory; then
  /// run_window() for one window after another, with its view of the lists in BatchView::lists; and finish_windows(),
  /// which writes the results.
  virtual void prepare_windows(const OwnArrays& /*arrays*/, const QueryBatch& /*batch*/, const BatchWork& /*work*/,
                               const Stream& /*stream*/) {}
  virtual void run_window(const IndexView& /*index*/, const BatchView& /*view*/, const WindowLists& /*lists*/,
                          const BatchWork& /*work*/, const Stream& /*stream*/) {}
  virtual void finish_windows(const IndexView& /*index*/, const BatchView& /*view*/, const Stream& /*stream*/) {}
  /// Frees what batches have reserved. None is running.
  virtual void free_memory() {}
  /// Sets the times of the kernels' steps; the kernels ran between these two events.
  virtual void add_times(const Event& started, const Event& ended, BatchTimes& times) const {
    times.unite_us = ended.us_since(started);
  }
  /// What the last batch moved through GPU memory, if it decoded its lists.
  virtual BatchCounts counts() const { return {}; }
};

}  // namespace quern::gpu
