#pragma once
#include "quern/formats/plan_file.hpp"
#include "quern/plan/cache_simulation.hpp"
#include "quern/plan/log_demand.hpp"
#include "quern/search/query_engine.hpp"

/// Cache plans for GPU memory: made from one log, and simulated for another, singly or in sweeps.
namespace quern {

// Policies that choose which list prefixes are cached in GPU memory (Wang et al. 3.3, Huang et al.).

/// The list prefixes that a policy has admitted within a budget. Takes 4 bytes per term of the index.
class CacheAdmission {
 public:
  /// `max_admission`: lambda, above 0 and at most 1. Admits at most max(one block, lambda · length) postings of each
  /// list. `budget_rows`: limit of block rows; a list's first block needs all of its rows. Throws InvalidArgument if
  /// max_admission is out of range.
  CacheAdmission(const CacheBlocks& blocks, std::uint64_t budget_bytes, double max_admission,
                 std::optional<std::uint64_t> budget_rows = {});

  const CacheBlocks& blocks() const { return blocks_; }
  /// The number of caching blocks of a list that may be admitted; 0 if GPUs don't cache the list.
  std::uint64_t admissible(const PostingList& list) const;
  /// Admits the list's next block if there is one and it fits; false if not. The list is then complete, since free
  /// space only shrinks.
  bool admit_next(const PostingList& list);
  /// Admits all admissible blocks of a list, or none if they do not fit.
  void admit_whole(const PostingList& list);
  /// The number of admitted blocks of a list.
  std::uint64_t blocks_of(term_t term) const { return admitted_[term]; }
  std::uint64_t bytes() const { return bytes_; }
  /// The number of lists with admitted blocks.
  std::size_t num_lists() const { return num_lists_; }

 private:
  bool admit(const PostingList& list, std::uint64_t blocks);

  const CacheBlocks& blocks_;
  std::uint64_t budget_, bytes_ = 0;
  std::uint64_t budget_rows_, rows_ = 0;
  double max_admission_;
  std::vector<std::uint32_t> admitted_;  ///< blocks, by term
  std::size_t num_lists_ = 0;
};

struct CachePolicy {
  std::string_view name;
  /// One line for help texts.
  std::string_view description;
  /// Admits blocks of the index's lists. Policies that use the log admit what it reads first, and then other lists
  /// while there is space, which costs nothing.
  void (*admit)(const LogDemand& demand, CacheAdmission& admission) = nullptr;
};

/// All policies, in the order of help texts; the first is the default. Add new ones here.
std::span<const CachePolicy> all_cache_policies();

/// Throws InvalidArgument, listing all names, if the name is unknown.
const CachePolicy& cache_policy_named(std::string_view name);

// Plans.

struct PlanOptions {
  std::string policy{all_cache_policies().front().name};
  std::uint64_t budget_bytes = 0;
  std::optional<std::uint64_t> budget_rows;  ///< as in CacheAdmission
  double max_admission = 1;
  DemandOptions demand;
};

/// Throws InvalidArgument if plans with that budget do not fit in half of the memory: 4 bytes for each term of the
/// index, 32 for each list that may be cached. Call before reading the log.
void check_plan_memory(const CacheBlocks& blocks, std::uint64_t budget_bytes, const Resources& resources);

/// The prefix of each list that the policy caches within the budget. `demand` must be measured with `engine` and
/// `blocks`.
CachePlan make_plan(const QueryEngine& engine, const CacheBlocks& blocks, const LogDemand& demand,
                    const PlanOptions& options);

/// The settings, size and simulated figures of a cache.
struct SimulatedCache {
  std::string policy;
  std::uint64_t budget_bytes = 0, cached_bytes = 0, index_bytes = 0;
  double max_admission = 1;
  std::size_t k = 10;
  CacheFigures figures;
};

/// Simulates a plan for the queries `log`, with the plan's own k, scoring and block size. `batch`: queries whose lists
/// are transferred together. The plan must belong to this index (PlanReader::load_for()).
SimulatedCache simulate_plan(const CachePlan& plan, const IndexReader& index, LogQueries& log, std::uint64_t batch,
                             const Resources& resources);

/// Simulates all combinations of these values.
struct SweepOptions {
  std::vector<std::size_t> ks;
  std::vector<std::string> policies;
  std::vector<std::uint64_t> budgets_bytes;
  std::vector<double> max_admissions;  ///< lambda, as in CacheAdmission
  DemandOptions demand;                ///< of both logs, but for k
  std::uint64_t batch = 1024;          ///< queries that are transferred together
};

/// Adds the queries of a log, in order.
using ReadQueries = std::function<void(LogQueries& queries)>;

/// Plans caches for the queries that `train` reads, and simulates them for those that `log` reads; ordered by k,
/// policy, budget and max_admission, the first slowest. Reads and runs both logs once for each k. Throws like
/// measure_demand() and CacheAdmission, and InvalidArgument for an unknown policy.
std::vector<SimulatedCache> sweep_policies(const QueryEngine& engine, const CacheBlocks& blocks,
                                           const ReadQueries& train, const ReadQueries& log,
                                           const SweepOptions& options, const Resources& resources);

/// The default scorer for plans: bm25+pagerank if the index has global scores and scores are exact, otherwise bm25.
Scorer default_plan_scorer(const IndexReader& index, Scores scores);

/// The caching blocks of the engine's index, with impacts if its scores are quantized. `size`: postings per caching
/// block; 0: the index's default.
CacheBlocks cache_blocks_for(const QueryEngine& engine, std::uint64_t size, const Resources& resources);

/// Makes plans for queries with the same scoring.
class LogPlanner {
 public:
  /// `caching_block`: the size for cache_blocks_for(). Index and resources must outlive the object. Throws like
  /// QueryEngine and CacheBlocks.
  LogPlanner(const IndexReader& index, const ScoringOptions& scoring, std::uint64_t caching_block,
             const Resources& resources);

  const QueryEngine& engine() const { return engine_; }
  /// The blocks whose sizes count against budgets.
  const CacheBlocks& blocks() const { return blocks_; }
  /// Makes the plan for the queries of `log`, writes it to `path`, and returns its manifest. Checks arguments before it
  /// calls `log`: throws like check_plan_memory() and AtomicOutput::file(); afterwards like measure_demand() and
  /// make_plan(), and InvalidArgument for a non-zero budget that holds no block.
  PlanManifest write(const PlanOptions& options, const ReadQueries& log, const std::string& path, bool overwrite) const;

 private:
  const Resources& resources_;
  QueryEngine engine_;
  CacheBlocks blocks_;
};

}  // namespace quern
