#pragma once
#include <vector>

#include "quern/gpu/engine/batch_runner.hpp"
#include "quern/gpu/engine/gpu_statistics.hpp"
#include "quern/gpu/engine/pipeline.hpp"
#include "quern/query/query_engine.hpp"

namespace quern {

/// A query on its way to a GPU and back. Owned by the thread that took it from a QueryQueue.
struct GpuQuery {
  std::size_t number = 0;  ///< in the order of the texts
  std::vector<WeightedList> lists;
  std::vector<ScoredDocument> documents;
  std::uint64_t postings = 0;   ///< in its lists
  std::uint32_t min_units = 0;  ///< minimum units of a result, if known from an earlier run
  bool all_found = false, answered = false, on_cpu = false;
};

/// Queries that wait for a GPU, the most expensive first, so that thread blocks finish at about the same time.
class QueryQueue : public gpu::WorkQueue<GpuQuery> {
 public:
  /// Batches have at most `max_queries` queries. For one GPU, all batches have the same size. For several GPUs, they
  /// have the same cost (postings, plus `fixed_cost` per query), and there are a few per GPU, so that all GPUs finish
  /// at about the same time.
  QueryQueue(std::vector<GpuQuery*> queries, std::size_t max_queries, std::size_t gpus, std::uint64_t fixed_cost);

  /// The number of batches that was planned for the queries.
  std::size_t batches() const { return batches_; }

 private:
  std::size_t batches_ = 0;
};

/// The outcome of the batches that a GPU took, apart from documents.
struct RankingOutcome {
  GpuStatistics statistics;
  std::vector<GpuQuery*> again;  ///< queries with more candidates than a GPU stores, which must run again
};

/// One GPU's share of ranked queries: the index in its memory, and two runners that alternate.
class RankingShare final : public gpu::GpuShare<GpuQuery> {
 public:
  /// Throws as DeviceIndex does.
  RankingShare(const QueryEngine& engine, unsigned gpu, const gpu::Strategy& strategy,
               const gpu::StrategyOptions& options, Progress& progress);

  unsigned gpu() const override { return index_.gpu(); }
  std::uint64_t device_bytes() const { return index_.bytes(); }
  /// Sets the strategy of later batches. Throws CudaError if its working memory doesn't fit; another strategy must then
  /// be set.
  void set_strategy(const gpu::Strategy& strategy, const gpu::StrategyOptions& options, Progress& progress);
  /// Sets what later batches compute.
  void set_work(const gpu::BatchWork& work) { work_ = work; }
  /// Returns what was done since the last call.
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
  std::vector<gpu::BatchRunner> runners_;          ///< one per flight
  const gpu::BatchRunner* last_runner_ = nullptr;  ///< the one that started last
};

}  // namespace quern
