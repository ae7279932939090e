#pragma once
#include <vector>

#include "quern/core/progress.hpp"
#include "quern/gpu/engine/batch_runner.hpp"
#include "quern/gpu/engine/gpu_statistics.hpp"
#include "quern/gpu/engine/query_queue.hpp"

namespace quern {

/// What a GPU made of the batches that it took.
struct ShareOutcome {
  GpuStatistics statistics;
  std::vector<GpuQuery*> again;  ///< too many documents came into question
};

/// One GPU's part of a GpuEngine: the index in its memory and two runners that take turns, so that one batch is made
/// and copied while the other runs. One thread at a time uses it.
class GpuShare {
 public:
  /// Throws as DeviceIndex does.
  GpuShare(const QueryEngine& engine, unsigned gpu, const gpu::Strategy& strategy, const gpu::StrategyOptions& options,
           Progress& progress);
  GpuShare(const GpuShare&) = delete;
  GpuShare& operator=(const GpuShare&) = delete;

  unsigned gpu() const { return index_.gpu(); }
  std::uint64_t device_bytes() const { return index_.bytes(); }
  /// How batches are answered from now on. Throws CudaError where its room does not fit: then another must be set.
  void set_strategy(const gpu::Strategy& strategy, const gpu::StrategyOptions& options, Progress& progress);
  /// Answers batches of the queue until it is empty. Throws CudaError where the GPU fails: what it had taken is in the
  /// queue again, for another GPU. Stops the queue where anything else is wrong.
  void answer(QueryQueue& queue, const gpu::BatchWork& work, ShareOutcome& outcome);

 private:
  /// A runner with its batch.
  struct Flight {
    gpu::BatchRunner runner;
    std::vector<GpuQuery*> queries;  ///< empty: nothing runs
  };

  void answer_all(QueryQueue& queue, const gpu::BatchWork& work, ShareOutcome& outcome);
  /// Starts a batch with the first of the queries that were taken.
  void launch(Flight& flight, const gpu::BatchWork& work, GpuStatistics& statistics);
  void land(Flight& flight, ShareOutcome& outcome);
  /// The queries that were taken and not answered. Nothing runs any more.
  std::vector<GpuQuery*> abandon();

  const QueryEngine& engine_;
  gpu::DeviceIndex index_;
  const gpu::Strategy* strategy_ = nullptr;
  std::vector<Flight> flights_;
  std::vector<GpuQuery*> taken_;                   ///< of the queue, and not yet in a flight
  const gpu::BatchRunner* last_runner_ = nullptr;  ///< the one that began last
};

}  // namespace quern
