#pragma once
#include <string>

#include "quern/plan/schedule_policy.hpp"

#include "command.hpp"

/// How a CPU and GPUs share queries: options that several commands have.
namespace quern::tools {

/// --deadline: milliseconds; 0: none.
void add_deadline_option(CLI::App& command, double& deadline_ms);
/// --gpu-batches
void add_gpu_batches_option(CLI::App& command, ScheduleOptions& options);
/// --max-blocks, --gpu-share and --seed, which some schedules look at.
void add_policy_options(CLI::App& command, ScheduleOptions& options);

}  // namespace quern::tools
