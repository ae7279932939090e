#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quern/core/resources.hpp"
#include "quern/formats/plan_file.hpp"
#include "quern/plan/cache_policy.hpp"
#include "quern/plan/cache_simulation.hpp"
#include "quern/search/query_engine.hpp"

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
  std::uint64_t batch = 1024;           ///< queries that are transferred together
  QueryKind queries = QueryKind::text;  ///< of both logs
};

/// Calls its argument with the text of each query of a log, in their order.
using ReadQueries = std::function<void(const std::function<void(std::string_view text)>& take)>;

/// Plans caches for the queries that `train` reads, and simulates them for those that `log` reads; ordered by k,
/// policy, budget and max_admission, the first slowest. Reads and runs both logs once for each k. Throws as
/// measure_demand() and CacheAdmission do, and InvalidArgument for an unknown policy.
std::vector<SimulatedCache> sweep_policies(const QueryEngine& engine, const CacheBlocks& blocks,
                                           const ReadQueries& train, const ReadQueries& log,
                                           const SweepOptions& options, const Resources& resources);

// From an index and a log to the file of a plan.

/// The scorer of queries that plans are made for, where none is named: bm25+pagerank if the index has global scores and
/// scores are exact, else bm25.
Scorer default_plan_scorer(const IndexReader& index, Scores scores);

/// The caching blocks of the engine's index, with impacts if its scores are quantized. `size`: postings per caching
/// block; 0: the index's default.
CacheBlocks cache_blocks_for(const QueryEngine& engine, std::uint64_t size, const Resources& resources);

/// Makes plans for queries that are scored in one way.
class LogPlanner {
 public:
  /// `caching_block` as in cache_blocks_for(). Index and resources must outlive the object. Throws as QueryEngine and
  /// CacheBlocks do.
  LogPlanner(const IndexReader& index, const ScoringOptions& scoring, std::uint64_t caching_block,
             const Resources& resources);

  const QueryEngine& engine() const { return engine_; }
  /// What budgets are compared with.
  const CacheBlocks& blocks() const { return blocks_; }
  /// Makes the plan for the queries that `log` reads, writes it to `path`, and returns what it says of itself. Refuses
  /// what it can before it calls `log`: throws as check_plan_memory() and AtomicOutput::file() do; then as
  /// measure_demand() and make_plan() do, and InvalidArgument for a budget that is not 0 and holds no block.
  PlanManifest write(const PlanOptions& options, const ReadQueries& log, const std::string& path, bool overwrite) const;

 private:
  const Resources& resources_;
  QueryEngine engine_;
  CacheBlocks blocks_;
};

}  // namespace quern
