#pragma once
#include "quern/gpu/device/device_memory.cuh"
#include "quern/gpu/engine/batch_runner.hpp"
#include "quern/gpu/engine/batch_view.cuh"
#include "quern/gpu/engine/strategy.hpp"

namespace quern::gpu {

/// A strategy with its working memory on the device. Runs one batch at a time; for each, BatchRunner calls plan(),
/// fill(), prepare() and run() in this order and, once the GPU has finished, add_times().
class StrategyRun {
 public:
  /// Bytes of arrays of the strategy's own that come to the GPU with the batch, in the same copy.
  struct OwnBytes {
    std::size_t filled = 0;  ///< that fill() writes
    std::size_t zeroed = 0;
  };
  /// Where these arrays are.
  struct OwnArrays {
    std::uint8_t* filled = nullptr;
    std::uint8_t* zeroed = nullptr;
  };

  StrategyRun() = default;
  StrategyRun(const StrategyRun&) = delete;
  StrategyRun& operator=(const StrategyRun&) = delete;
  virtual ~StrategyRun() = default;

  /// Decides how the batch is answered.
  virtual OwnBytes plan(const QueryBatch& /*batch*/, const BatchWork& /*work*/) { return {}; }
  /// Writes the arrays to host memory.
  virtual void fill(std::uint8_t* /*memory*/) const {}
  /// Reserves and clears working memory; `arrays` are on the device. Kernels of another batch may still run.
  virtual void prepare(const OwnArrays& /*arrays*/, const QueryBatch& /*batch*/, const BatchWork& /*work*/,
                       const Stream& /*stream*/) {}
  /// Enqueues what writes BatchView::results and num_results, and returns without waiting. `batch` is `view` on the
  /// host.
  virtual void run(const IndexView& index, const BatchView& view, const QueryBatch& batch, const BatchWork& work,
                   const Stream& stream) = 0;
  /// Times of the kernels' steps; they ran between these two events.
  virtual void add_times(const Event& began, const Event& ended, BatchTimes& times) const {
    times.unite_us = ended.us_since(began);
  }
  /// What the last batch asked of the GPU's memory, if it decoded its lists.
  virtual BatchCounts counts() const { return {}; }
};

}  // namespace quern::gpu
