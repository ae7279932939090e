#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quern/formats/plan_file.hpp"
#include "quern/plan/cache_policy.hpp"
#include "quern/plan/cache_simulation.hpp"

/// Plans of what GPU memory caches: made from a log, and simulated for another one, singly or in sweeps.
namespace quern {

struct PlanOptions {
  std::string policy{all_cache_policies().front()->name};
  std::uint64_t budget_bytes = 0;
  std::optional<std::uint64_t> budget_rows;  ///< as in CacheAdmission
  double max_admission = 1;
  DemandOptions demand;
};

/// Throws InvalidArgument if plans of that budget do not fit in half of the memory: 4 bytes for each term of the index,
/// 32 for each list that may be cached. To be called before the log is read.
void check_plan_memory(const CacheBlocks& blocks, std::uint64_t budget_bytes, const Resources& resources);

/// What the policy caches of each list within the budget. `demand` was measured with `engine` and `blocks`.
CachePlan make_plan(const QueryEngine& engine, const CacheBlocks& blocks, const LogDemand& demand,
                    const PlanOptions& options);

/// The settings of a cache, its size, and what it would do.
struct SimulatedCache {
  std::string policy;
  std::uint64_t budget_bytes = 0, cached_bytes = 0, index_bytes = 0;
  double max_admission = 1;
  std::size_t k = 10;
  CacheFigures figures;
};

/// Simulates a plan for the queries `log`, with the plan's own k, scoring and block size. `batch`: queries that are
/// transferred together. The plan must be of this index (PlanReader::load_for()).
SimulatedCache simulate_plan(const CachePlan& plan, const IndexReader& index, LogQueries& log, std::uint64_t batch,
                             const Resources& resources);

/// All combinations of the lists below are simulated.
struct SweepOptions {
  std::vector<std::size_t> ks;
  std::vector<std::string> policies;
  std::vector<std::uint64_t> budgets_bytes;
  std::vector<double> max_admissions;  ///< lambda, as in CacheAdmission
  std::uint64_t round = 256;           ///< as in DemandOptions
  VisitKind kind = VisitKind::visited;
  std::uint64_t batch = 1024;  ///< queries that are transferred together
};

/// Calls its argument with the text of each query of a log, in their order.
using ReadQueries = std::function<void(const std::function<void(std::string_view text)>& take)>;

/// Plans caches for the queries that `train` reads, and simulates them for those that `log` reads; ordered by k,
/// policy, budget and max_admission, the first slowest. Texts are read as the engine's options say; of vectors, each
/// term counts once, as LogQueries says. Reads and runs both logs once for each k. Throws as
/// measure_demand() and CacheAdmission do, and InvalidArgument for an unknown policy.
std::vector<SimulatedCache> sweep_policies(const QueryEngine& engine, const CacheBlocks& blocks,
                                           const ReadQueries& train, const ReadQueries& log,
                                           const SweepOptions& options, const Resources& resources);

}  // namespace quern
