#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

/// How a GPU finds the results of a batch. All strategies find the same ones, bit by bit; each is there to be measured
/// beside the others. Declared without CUDA.
namespace quern::gpu {

class DeviceIndex;
class QueryBatch;
class StrategyRun;  ///< only in CUDA sources: engine/strategy_run.cuh

/// A whole number of warps, within what a thread block takes.
inline constexpr unsigned min_partitions = 32, max_partitions = 512;
constexpr bool are_partitions(unsigned number) {
  return number >= min_partitions && number <= max_partitions && number % min_partitions == 0;
}

/// What strategies can be told.
struct StrategyOptions {
  unsigned partitions = 128;  ///< of `partition`: ranges of docIDs, each a thread's; are_partitions()
};

struct Strategy {
  /// As --strategy takes it.
  std::string_view name;
  /// One line for help texts.
  std::string_view description;
  /// GPU memory that a batch takes, roughly, besides what make() allocates once.
  std::uint64_t (*batch_bytes)(const QueryBatch& batch, std::size_t k) = nullptr;
  /// Makes what runs batches, one at a time. Throws CudaError if its working memory doesn't fit.
  std::unique_ptr<StrategyRun> (*make)(const DeviceIndex& index, const StrategyOptions& options) = nullptr;
  /// Reads the index's block maxima.
  bool reads_block_maxima = false;
};

/// All strategies, in the order in which help texts show them; the first is the default. The one place to add one.
const std::vector<Strategy>& all_strategies();

/// Throws InvalidArgument, with the names there are, where no strategy is called so.
const Strategy& strategy_named(std::string_view name);

/// For help texts: a line for each strategy.
std::string strategies_help();

/// Many queries together, range of docIDs by range.
std::unique_ptr<StrategyRun> make_range(const DeviceIndex& index, const StrategyOptions& options);
/// Each query by itself, term after term, with the whole GPU (Ding et al.).
std::unique_ptr<StrategyRun> make_ding(const DeviceIndex& index, const StrategyOptions& options);
/// A thread block a query, a thread a range of docIDs (Huang et al.).
std::unique_ptr<StrategyRun> make_partition(const DeviceIndex& index, const StrategyOptions& options);

}  // namespace quern::gpu
