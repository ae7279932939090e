#pragma once
#include "quern/api/internal/processors.hpp"
#include "quern/gpu/device/tuning.hpp"
#include "quern/gpu/failover.hpp"
#include "quern/gpu/intersect/gpu_intersection.hpp"
#include "quern/gpu/worker/strategy.hpp"

#include "command.hpp"

/// Where queries run, and how GPUs answer them: options that several commands have.
namespace quern::tools {

/// --device: one of these.
void add_device_option(CLI::App& command, QueryDevice& device, std::span<const NamedValue<QueryDevice>> devices);
/// The name of the device that queries ran on.
std::string_view device_name(bool on_gpu);

/// --gpu: the first one's number.
void add_gpu_option(CLI::App& command, unsigned& gpu);
/// A validator that takes numbers of GPUs, and "all" as 0.
CLI::Validator gpus_validator();
/// --gpus: how many, starting with --gpu; 0: all.
void add_gpus_option(CLI::App& command, unsigned& gpus);
/// --batch: the most queries that a GPU answers together.
void add_batch_option(CLI::App& command, std::size_t& queries);

/// --strategy NAME, and the options of strategies.
void add_strategy_options(CLI::App& command, std::string& strategy, gpu::StrategyOptions& options);
/// A strategy that answers queries by none of the algorithms, all of them names, is a usage error.
void check_strategy(const std::string& strategy, const std::vector<std::string>& algorithms);
/// Throws a usage error if queries with a filter are to run on a GPU by a strategy that knows none.
void check_filters(const std::string& strategy, QueryDevice device);
/// --partitions alone.
void add_partitions_option(CLI::App& command, gpu::StrategyOptions& options);

/// The value of --gpu-memory, a size or a percentage; empty: none.
gpu::GpuMemoryOptions gpu_memory_limit(const std::string& text);

/// Limits a GPU's memory, and chooses what it keeps there if the index does not fit.
struct GpuMemoryArguments {
  std::string limit;
  std::vector<std::string> plans;
  gpu::ListRetention retention = gpu::ListRetention::lfu;
  gpu::ListTails tails = gpu::ListTails::automatic;
  gpu::ListTransfers transfers = gpu::ListTransfers::automatic;
};

/// --gpu-memory and --plan.
void add_gpu_memory_options(CLI::App& command, GpuMemoryArguments& arguments);

/// --cache and --transfers.
void add_list_options(CLI::App& command, gpu::ListRetention& retention, gpu::ListTransfers& transfers);

/// Help for --gpu-memory and --plan.
inline constexpr std::string_view gpu_memory_help =
    "GPU memory limit: a size for everything that queries need there, or a percentage of the coded lists for the lists "
    "alone (other data is extra). If the index does not fit, lists are copied as batches need them";
inline constexpr std::string_view plan_help =
    "A plan from quern plan for this index: which parts of lists stay in GPU memory if the index does not fit. "
    "Over shards, give the option once for each";

/// --tails, for commands whose queries have scores.
void add_tails_option(CLI::App& command, GpuMemoryArguments& arguments);

/// What all of these options say, without plans.
gpu::GpuMemoryOptions memory_options(const GpuMemoryArguments& arguments);

}  // namespace quern::tools
