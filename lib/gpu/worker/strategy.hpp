#pragma once
#include "quern/gpu/device/memory_division.hpp"
#include "quern/search/algorithm.hpp"

/// Strategies: ways in which a GPU finds the results of a batch. All find the same results, bit for bit, so benchmarks
/// can compare them. Declared without CUDA.
namespace quern::gpu {

class DeviceIndex;
class QueryBatch;
class StrategyRun;  ///< only in CUDA sources: strategy_run.cuh

/// Limits of threads per thread block that options set: whole warps.
inline constexpr unsigned min_block_threads = 32, max_block_threads = 512;
constexpr bool are_block_threads(unsigned number) {
  return number >= min_block_threads && number <= max_block_threads && number % min_block_threads == 0;
}

struct StrategyOptions {
  unsigned partitions = 128;  ///< strategy `partition`: ranges of docIDs, one per thread; see are_block_threads()
  /// Strategy `wang`: documents of the shortest list in a round, one per thread (the paper's B); see
  /// are_block_threads(). With more, other lists' blocks are decoded less often; with fewer, queries end earlier.
  unsigned round = 256;
  /// Strategy `range`: decodes the lists of all intersections, even where reading single blocks would be faster.
  bool decodes_always = false;
};

struct BatchWork;
struct WindowLimits;

/// Makes a run of a strategy, whose GPU memory `account` counts. Throws GpuOutOfMemory if it doesn't fit.
using StrategyMaker = std::unique_ptr<StrategyRun>(const DeviceIndex& index, MemoryAccount& account,
                                                   const StrategyOptions& options);

struct Strategy {
  std::string_view name;         ///< that option --strategy takes
  std::string_view description;  ///< one line for help texts
  /// Approximate GPU memory of a batch, without decoded lists and the memory that make() allocates.
  std::uint64_t (*batch_bytes)(const QueryBatch& batch, std::size_t k) = nullptr;
  StrategyMaker* make = nullptr;
  /// What a batch needs besides queries and results. Null: nothing.
  BatchNeeds (*needs)(const IndexReader& index) = nullptr;
  /// Whether the strategy decodes the lists of a batch as a whole, to an EntryStore, unless the batch runs in windows.
  /// Null: never, so it needs no EntryStore. `lists_stay`: there is room for all lists of the index.
  bool (*decodes_lists)(const QueryBatch& batch, const BatchWork& work, const StrategyOptions& options,
                        bool lists_stay) = nullptr;
  /// Maximum size of windows if decoded lists may take `words` words of the EntryStore's arena. Empty if the strategy
  /// can't answer the batch by windows, or needs more memory. Null: it never runs in windows.
  std::optional<WindowLimits> (*window_limits)(const QueryBatch& batch, const BatchWork& work,
                                               std::uint64_t words) = nullptr;
  bool reads_block_maxima = false;
  /// Whether the strategy reads the documents' upper bounds, by which queries end early.
  bool reads_upper_bounds = false;
  bool filters = false;           ///< whether the strategy supports filters (BatchWork::passing)
  bool conjunctive_only = false;  ///< whether the strategy finds only documents with all terms: see answers()
};

/// What batches of up to `max_queries` queries by any of these strategies need.
BatchNeeds needs_of(std::span<const Strategy* const> strategies, const IndexReader& index, std::size_t max_queries);

/// Whether the strategy answers queries by this algorithm.
bool answers(const Strategy& strategy, const QueryAlgorithm& algorithm);
/// Throws InvalidArgument if the strategy answers queries by none of these algorithms.
void check_answers(const Strategy& strategy, std::span<const QueryAlgorithm* const> algorithms);

/// Throws InvalidArgument if the strategy does not support filters.
void check_filters(const Strategy& strategy);

/// All strategies, in the order of help texts; the first is the default. Add strategies here.
const std::vector<Strategy>& all_strategies();

/// The strategy of this name. Throws InvalidArgument, which lists all names, if there is none.
const Strategy& strategy_named(std::string_view name);

/// For help texts: a line for each strategy.
std::string strategies_help();

/// The makers of all_strategies(), which describes them.
StrategyMaker make_range, make_ding, make_partition, make_wang;

}  // namespace quern::gpu
