#pragma once
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>

#include "quern/gpu/store/plan_room.hpp"
#include "quern/lab/gpu/cache_grid.hpp"
#include "quern/plan/cache_plan.hpp"

namespace quern {

/// Plans from a training log for any memory, in memory; each is made once.
class BenchPlans {
 public:
  /// All arguments must outlive the plans. `train`: texts of queries.
  BenchPlans(const QueryEngine& engine, std::span<const std::string_view> train, const Resources& resources);

  /// The setting's plan, which fills what the engine leaves to plans of `memory`; null without a policy, or if all
  /// lists fit. Valid as long as this object. Throws as plan_room(), measure_demand() and make_plan() do.
  const CachePlan* plan(const CacheSetting& setting, const gpu::GpuMemoryOptions& memory);

 private:
  const LogDemand& demand(std::size_t k);

  const QueryEngine& engine_;
  std::span<const std::string_view> train_;
  const Resources& resources_;
  CacheBlocks blocks_;
  std::map<std::size_t, LogDemand> demands_;  ///< by k
  std::map<std::tuple<std::string, std::string, double, std::size_t>, CachePlan> plans_;
};

}  // namespace quern
