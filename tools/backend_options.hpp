#pragma once
#include "quern/gpu/query_backend.hpp"
#include "quern/plan/schedule_policy.hpp"

#include "command.hpp"

/// Which processors answer the queries of a command: the CPU, GPUs, or both.
namespace quern::tools {

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

}  // namespace quern::tools
