#pragma once
#include <vector>

#include "quern/gpu/engine/batch_runner.hpp"
#include "quern/gpu/engine/gpu_statistics.hpp"
#include "quern/gpu/engine/query_queue.hpp"

namespace quern {

/// What a GPU made of the batches that it took.
struct RankingOutcome {
  GpuStatistics statistics;
  std::vector<GpuQuery*> again;  ///< queries with more candidates than a GPU keeps
};

/// One GPU's share of ranked queries: the index in its memory and two runners that take turns.
class RankingShare final : public gpu::GpuShare<GpuQuery> {
 public:
  /// Throws as DeviceIndex does.
  RankingShare(const QueryEngine& engine, unsigned gpu, const gpu::Strategy& strategy,
               const gpu::StrategyOptions& options, Progress& progress);

  unsigned gpu() const override { return index_.gpu(); }
  std::uint64_t device_bytes() const { return index_.bytes(); }
  /// How batches are answered from now on. Throws CudaError if the strategy's memory doesn't fit: another one must be
  /// set then.
  void set_strategy(const gpu::Strategy& strategy, const gpu::StrategyOptions& options, Progress& progress);
  /// What the next batches are to do.
  void set_work(const gpu::BatchWork& work) { work_ = work; }
  /// What was done since the last call.
  RankingOutcome take_outcome() { return std::exchange(outcome_, {}); }

 private:
  std::size_t launch(unsigned flight, std::span<GpuQuery* const> queries) override;
  void land(unsigned flight, std::span<GpuQuery* const> queries) override;
  void abandon() noexcept override;

  const QueryEngine& engine_;
  gpu::DeviceIndex index_;
  const gpu::Strategy* strategy_ = nullptr;
  gpu::BatchWork work_;
  RankingOutcome outcome_;
  std::vector<gpu::BatchRunner> runners_;          ///< of each flight
  const gpu::BatchRunner* last_runner_ = nullptr;  ///< the one that began last
};

}  // namespace quern
