#pragma once
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "quern/gpu/device/tuning.hpp"
#include "quern/gpu/failover.hpp"
#include "quern/gpu/intersect/gpu_intersection.hpp"
#include "quern/gpu/worker/strategy.hpp"
#include "quern/lab/gpu/gpu_bench.hpp"

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
/// --strategies NAME,..., for commands that compare them.
void add_strategy_options(CLI::App& command, std::vector<std::string>& strategies, gpu::StrategyOptions& options);

/// What --gpu-memory says, a size or a percentage; empty: nothing.
gpu::GpuMemoryOptions gpu_memory_limit(const std::string& text);

/// How much of a GPU's memory queries may take, and what it keeps there if the index does not fit.
struct GpuMemoryArguments {
  std::string limit, plan;
  gpu::ListRetention retention = gpu::ListRetention::lfu;
  gpu::ListTails tails = gpu::ListTails::automatic;
  gpu::ListTransfers transfers = gpu::ListTransfers::automatic;
};

/// --gpu-memory, --plan, --cache and --transfers.
void add_gpu_memory_options(CLI::App& command, GpuMemoryArguments& arguments);

/// Several of them, for a command that compares them: each limit, or "all", with each plan, or "none".
struct GpuMemoryCases {
  std::vector<std::string> limits = {"all"}, plans = {"none"};
  gpu::ListRetention retention = gpu::ListRetention::lfu;
  gpu::ListTails tails = gpu::ListTails::automatic;
  gpu::ListTransfers transfers = gpu::ListTransfers::automatic;
};

/// --gpu-memory and --plan, which take several values, --cache and --transfers.
void add_gpu_memory_options(CLI::App& command, GpuMemoryCases& arguments);

/// --cache and --transfers.
void add_list_options(CLI::App& command, gpu::ListRetention& retention, gpu::ListTransfers& transfers);

/// --tails, for commands whose queries have scores.
void add_tails_option(CLI::App& command, GpuMemoryArguments& arguments);
void add_tails_option(CLI::App& command, GpuMemoryCases& arguments);

/// All combinations, with the plans that they name, which are read when this is made.
class GpuMemoryPlans {
 public:
  /// Throws as GpuMemoryPlan does.
  GpuMemoryPlans(const GpuMemoryCases& arguments, const IndexReader& index);
  GpuMemoryPlans(const GpuMemoryPlans&) = delete;
  GpuMemoryPlans& operator=(const GpuMemoryPlans&) = delete;
  /// Valid as long as this object.
  const std::vector<GpuMemoryCase>& cases() const { return cases_; }

 private:
  std::deque<CachePlan> plans_;
  std::vector<GpuMemoryCase> cases_;
};

/// The options with the plan that they name, which is read when this is made.
class GpuMemoryPlan {
 public:
  /// Throws as PlanReader does; InvalidArgument if the plan belongs to another index.
  GpuMemoryPlan(const GpuMemoryArguments& arguments, const IndexReader& index);
  /// If queries may run on GPUs, takes a quarter of `bytes` of a memory budget for what copies to and from all of them
  /// pin; if transfers are direct, up to three quarters, since the index's lists are pinned, too.
  void take_pinned(QueryDevice device, std::uint64_t& bytes);
  /// Valid as long as this object.
  gpu::GpuMemoryOptions options() const;

 private:
  const GpuMemoryArguments& arguments_;
  std::uint64_t list_bytes_;  ///< of the index
  std::optional<CachePlan> plan_;
  std::optional<std::uint64_t> pinned_bytes_;
};

inline constexpr const char* switch_on = "on";
inline constexpr const char* switch_off = "off";

/// The names of GPU methods, and a help text with a line for each.
std::vector<std::string> gpu_method_names();
std::string gpu_method_help();
/// packed, whole, single.
std::vector<std::string> transfer_names();
std::string transfer_name(gpu::ResultTransfer transfer);
gpu::ResultTransfer transfer_named(const std::string& name);

}  // namespace quern::tools
