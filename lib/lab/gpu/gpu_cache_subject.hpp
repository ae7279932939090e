#pragma once
#include <map>
#include <tuple>

#include "quern/gpu/store/list_cache.hpp"
#include "quern/gpu/worker/gpu_engine.hpp"
#include "quern/lab/gpu/cache_bench.hpp"
#include "quern/lab/gpu/list_cache_bench.hpp"
#include "quern/plan/cache_plan.hpp"

namespace quern {

/// Plans from a training log for any memory size. Keeps them in memory and makes each once.
class BenchPlans {
 public:
  /// All arguments must outlive the plans. `train`: texts of queries.
  BenchPlans(const QueryEngine& engine, std::span<const std::string_view> train, QueryKind kind,
             const Resources& resources);

  /// The setting's plan, which fills the engine's room for plans within `memory`; null without a policy, or if all
  /// lists fit. Valid as long as this object. Throws like plan_room(), measure_demand() and make_plan().
  const CachePlan* plan(const CacheSetting& setting, const gpu::GpuMemoryOptions& memory);

 private:
  const LogDemand& demand(std::size_t k);

  const QueryEngine& engine_;
  std::span<const std::string_view> train_;
  QueryKind kind_;
  const Resources& resources_;
  CacheBlocks blocks_;
  std::map<std::size_t, LogDemand> demands_;  ///< by k
  std::map<std::tuple<std::string, std::string, double, std::size_t, std::uint64_t>, CachePlan> plans_;
};

struct GpuCacheOptions {
  GpuOptions gpu;  ///< of one GPU; settings have the sizes of memory and batches
  const QueryAlgorithm* algorithm = nullptr;
  std::map<std::string, double> memories;  ///< by name in settings: shares of the index's lists
  unsigned repeats = 3;
  QueryKind kind = QueryKind::text;  ///< of the logs
};

/// A GPU of this machine with an index and two logs: one to make plans from, one to answer. Skips queries without
/// results, like Wang et al. (4.1).
class GpuCacheSubject final : public CacheSubject {
 public:
  /// All arguments must outlive the object. Throws CudaError if there is no GPU, InvalidArgument if no query has
  /// results or the strategy does not support the algorithm, and what GpuEngine throws.
  GpuCacheSubject(const QueryEngine& engine, std::span<const std::string_view> train,
                  std::span<const QueryView> queries, const GpuCacheOptions& options, const Resources& resources);

  std::size_t queries() const { return queries_.size(); }
  EngineRun run(const CacheSetting& setting) override;
  CopyDemand demand(const CacheSetting& setting) override;
  double find_us() override { return lists_.find_us; }
  TransferTime copy_lists(std::uint64_t bytes, bool by_windows) override;
  TransferTime copy_pinned(std::uint64_t bytes) override;

 private:
  using Lists = std::vector<const std::vector<WeightedList>*>;

  void keep_queries_with_results(std::span<const QueryView> queries);
  gpu::GpuMemoryOptions memory_of(const CacheSetting& setting);
  /// The engine for the setting; replaces the last one if it differs.
  GpuEngine& engine_for(const CacheSetting& setting);
  /// The lists of the queries that run() answers: all, in GpuEngine's order, or the first ones if `batch` is 1.
  Lists sent(std::size_t batch) const;

  const QueryEngine& engine_;
  const GpuCacheOptions& options_;
  const Resources& resources_;
  BenchPlans plans_;
  std::vector<QueryView> queries_;
  LogLists lists_;
  std::unique_ptr<TransferBench> transfers_;  ///< only one of these holds GPU memory at a time
  std::unique_ptr<GpuEngine> gpu_;
  // of gpu_
  std::string memory_;
  std::uint64_t list_buffer_ = 0;
  const CachePlan* plan_ = nullptr;
};

}  // namespace quern
