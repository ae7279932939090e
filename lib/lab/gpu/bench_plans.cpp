#include "quern/lab/gpu/bench_plans.hpp"

namespace quern {

BenchPlans::BenchPlans(const QueryEngine& engine, std::span<const std::string_view> train, const Resources& resources)
    : engine_(engine),
      train_(train),
      resources_(resources),
      blocks_(engine.index(), CacheBlocks::default_size(engine.index()), resources, engine.quantizer() != nullptr) {}

const LogDemand& BenchPlans::demand(std::size_t k) {
  const auto known = demands_.find(k);
  if (known != demands_.end()) return known->second;
  LogQueries log(engine_.index().manifest().analyzer, resources_, engine_.options().text);
  for (const std::string_view text : train_) log.add(text);
  return demands_.emplace(k, measure_demand(engine_, blocks_, log, {.k = k}, resources_)).first->second;
}

const CachePlan* BenchPlans::plan(const CacheSetting& setting, const gpu::GpuMemoryOptions& memory) {
  if (setting.policy == no_policy) return nullptr;
  const auto key = std::tuple(setting.memory, setting.policy, setting.max_admission, setting.k);
  const auto known = plans_.find(key);
  if (known != plans_.end()) return &known->second;
  const gpu::PlanRoom room = gpu::plan_room(engine_, memory);
  if (room.whole_index) return nullptr;
  PlanOptions options;
  options.policy = setting.policy;
  options.budget_bytes = room.bytes;
  options.budget_rows = room.rows;
  options.max_admission = setting.max_admission;
  options.demand.k = setting.k;
  check_plan_memory(blocks_, options.budget_bytes, resources_);
  return &plans_.emplace(key, make_plan(engine_, blocks_, demand(setting.k), options)).first->second;
}

}  // namespace quern
