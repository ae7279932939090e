#pragma once
#include "quern/gpu/device/device_memory.cuh"
#include "quern/gpu/engine/batch_runner.hpp"
#include "quern/gpu/engine/batch_view.cuh"
#include "quern/gpu/strategy.hpp"

namespace quern::gpu {

/// A strategy with its room on the device; runs a batch at a time.
class StrategyRun {
 public:
  StrategyRun() = default;
  StrategyRun(const StrategyRun&) = delete;
  StrategyRun& operator=(const StrategyRun&) = delete;
  virtual ~StrategyRun() = default;
  /// Puts on the stream what writes BatchView::results and num_results of a batch that has been copied. Returns without
  /// waiting. `batch` is `view` on the host.
  virtual void run(const IndexView& index, const BatchView& view, const QueryBatch& batch, const BatchWork& work,
                   const Stream& stream) = 0;
};

}  // namespace quern::gpu
