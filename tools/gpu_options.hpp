#pragma once
#include "quern/api/cache_plan.hpp"
#include "quern/api/internal/processors.hpp"
#include "quern/gpu/device/tuning.hpp"
#include "quern/gpu/intersect/gpu_intersection.hpp"
#include "quern/gpu/query_backend.hpp"
#include "quern/gpu/worker/strategy.hpp"
#include "quern/plan/schedule_policy.hpp"
#include "quern/plan/throughput_model.hpp"

#include "command.hpp"
#include "query_options.hpp"

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
/// --partitions and --round: threads of strategies.
void add_thread_options(CLI::App& command, gpu::StrategyOptions& options);

/// The value of --gpu-memory, a size or a percentage; empty: none.
gpu::GpuMemoryOptions gpu_memory_limit(const std::string& text);

/// Limits a GPU's memory, and chooses what it keeps there if the index does not fit.
struct GpuMemoryArguments {
  std::string limit;
  std::vector<std::string> plans;
  gpu::GpuMemoryOptions lists;  ///< without limit and plan
};

/// --gpu-memory and --plan.
void add_gpu_memory_options(CLI::App& command, GpuMemoryArguments& arguments);

/// --cache and --transfers.
void add_list_options(CLI::App& command, gpu::GpuMemoryOptions& memory);
/// Also --tails and --list-buffer, for commands whose queries have scores.
void add_ranked_list_options(CLI::App& command, gpu::GpuMemoryOptions& memory);

/// Help for --gpu-memory and --plan.
inline constexpr std::string_view gpu_memory_help =
    "Limit of all GPU memory that queries take: a size, or a percentage of the index's posting lists on disk. If the "
    "index does not fit, lists are copied as batches need them";
inline constexpr std::string_view list_buffer_help =
    "If the index does not fit: a batch of queries ends when the lists that it misses fill this much GPU memory, which "
    "two batches have each; a plan gets all that is left (Wang et al. 2017)";
inline constexpr std::string_view plan_help =
    "A plan from quern plan for this index: which parts of lists stay in GPU memory if the index does not fit. "
    "Over shards, give the option once for each";

/// What all of these options say, without plans.
gpu::GpuMemoryOptions memory_options(const GpuMemoryArguments& arguments);

/// --schedule, --deadline, --costs and what some schedules look at, for --device both.
struct SharingArguments {
  std::string schedule = "first", costs;
  double deadline_ms = 0;
  ScheduleOptions options;
};

void add_sharing_options(CLI::App& command, SharingArguments& arguments);

/// Options that another device than both would ignore are usage errors.
void check_sharing(const SharingArguments& arguments, QueryDevice device);

/// A backend's options; with `both`, where `threads` of the CPU are shared with what works for GPUs. `index`: the first
/// shard. Throws like read_costs().
BackendOptions backend_options(QueryDevice device, const GpuOptions& gpu, const SharingArguments& sharing,
                               unsigned threads, const IndexReader& index, FailoverNotice notice);

// How a CPU and GPUs share queries: options that several commands have.

/// --deadline: milliseconds; 0: none.
void add_deadline_option(CLI::App& command, double& deadline_ms);
/// --gpu-batches
void add_gpu_batches_option(CLI::App& command, ScheduleOptions& options);
/// --max-blocks, --gpu-share and --seed, which some schedules look at.
void add_policy_options(CLI::App& command, ScheduleOptions& options);

// Options that plans and simulations of caches share: how queries run, and budgets.

/// -k, --round, --block, --count, --idf, --scores, --scorer and --alpha.
void add_cache_options(CLI::App& command, api::PlanOptions& options);

/// --link: the speed of the link over which lists travel; `help` says what for.
void add_link_option(CLI::App& command, std::optional<TransferLink>& link, const std::string& help);

/// The number before a % sign; nothing if `text` is not a percentage, or negative.
std::optional<double> percentage(const std::string& text);
/// A size such as 64M or a share such as 10%: anything else is a usage error.
CLI::Validator budget_validator();
/// A share of a list, above 0 and at most 1: anything else is a usage error.
CLI::Validator max_admission_validator();
/// In bytes; `whole` is 100%.
std::uint64_t parse_budget(const std::string& text, std::uint64_t whole);

}  // namespace quern::tools
