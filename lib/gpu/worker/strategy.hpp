#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/search/algorithm.hpp"

/// Strategies: how a GPU finds the results of a batch. All find the same results, bit for bit, and can be compared in
/// benchmarks. Declared without CUDA.
namespace quern::gpu {

class DeviceIndex;
class MemoryAccount;
class QueryBatch;
class StrategyRun;  ///< only in CUDA sources: engine/strategy_run.cuh

/// Limits of the strategy `partition`: a whole number of warps that fits a thread block.
inline constexpr unsigned min_partitions = 32, max_partitions = 512;
constexpr bool are_partitions(unsigned number) {
  return number >= min_partitions && number <= max_partitions && number % min_partitions == 0;
}

/// Options of strategies.
struct StrategyOptions {
  unsigned partitions = 128;  ///< of `partition`: ranges of docIDs, one per thread; see are_partitions()
  /// Of `range`: decodes the lists of all intersections, also where it would be faster to read only some blocks.
  bool decodes_always = false;
};

struct BatchWork;
struct WindowLimits;

struct Strategy {
  /// As --strategy takes it.
  std::string_view name;
  /// One line for help texts.
  std::string_view description;
  /// Approximate GPU memory of a batch, without what make() allocates once, and without decoded lists.
  std::uint64_t (*batch_bytes)(const QueryBatch& batch, std::size_t k) = nullptr;
  /// Makes a runner of the strategy, whose GPU memory `account` counts. Throws GpuOutOfMemory if it doesn't fit.
  std::unique_ptr<StrategyRun> (*make)(const DeviceIndex& index, MemoryAccount& account,
                                       const StrategyOptions& options) = nullptr;
  /// Whether it decodes the lists of a batch as a whole, to an EntryStore, unless the batch goes through windows. Null:
  /// it never does, and needs no EntryStore. `lists_stay`: there is room for every list of the index, so that each is
  /// decoded once.
  bool (*decodes_lists)(const QueryBatch& batch, const BatchWork& work, const StrategyOptions& options,
                        bool lists_stay) = nullptr;
  /// How large windows of documents may be if decoded lists are to take at most `words` of the EntryStore's arena.
  /// Nothing if it does not answer the batch by windows, or not with so little memory. Null: it never does.
  std::optional<WindowLimits> (*window_limits)(const QueryBatch& batch, const BatchWork& work,
                                               std::uint64_t words) = nullptr;
  /// Whether it reads the index's block maxima.
  bool reads_block_maxima = false;
  /// Whether it reads the documents' upper bounds, by which queries end early.
  bool reads_upper_bounds = false;
  /// Whether it knows filters: documents that may be results (BatchWork::passing).
  bool filters = false;
  /// Whether it only finds documents with all terms: see answers().
  bool conjunctive_only = false;
};

/// Whether the strategy answers queries by this algorithm.
bool answers(const Strategy& strategy, const QueryAlgorithm& algorithm);
/// Throws InvalidArgument if it answers queries by none of these algorithms.
void check_answers(const Strategy& strategy, std::span<const QueryAlgorithm* const> algorithms);

/// Throws InvalidArgument if the strategy knows no filters.
void check_filters(const Strategy& strategy);

/// All strategies, in the order in which help texts show them; the first is the default. The one place to add one.
const std::vector<Strategy>& all_strategies();

/// The strategy of this name. Throws InvalidArgument, with all names, if there is none.
const Strategy& strategy_named(std::string_view name);

/// For help texts: a line for each strategy.
std::string strategies_help();

/// Many queries together, one range of docIDs after another.
std::unique_ptr<StrategyRun> make_range(const DeviceIndex& index, MemoryAccount& account,
                                        const StrategyOptions& options);
/// One term after another, with an accumulator per document for unions (Ding et al. 2009).
std::unique_ptr<StrategyRun> make_ding(const DeviceIndex& index, MemoryAccount& account,
                                       const StrategyOptions& options);
/// A thread block per query, a range of docIDs per thread (Huang et al. 2017).
std::unique_ptr<StrategyRun> make_partition(const DeviceIndex& index, MemoryAccount& account,
                                            const StrategyOptions& options);
/// A thread block per query, one document of the shortest list per thread and round (Wang et al. 2017).
std::unique_ptr<StrategyRun> make_wang(const DeviceIndex& index, MemoryAccount& account,
                                       const StrategyOptions& options);

}  // namespace quern::gpu
