#pragma once
#include <string>
#include <vector>

#include "quern/gpu/engine/strategy.hpp"
#include "quern/gpu/failover.hpp"
#include "quern/gpu/intersection/gpu_intersection.hpp"

#include "command.hpp"

/// Where queries run, and how GPUs answer them: options that several commands have.
namespace quern::tools {

inline const std::string cpu_device{name_of_value(all_query_devices, QueryDevice::cpu)};
inline const std::string gpu_device{name_of_value(all_query_devices, QueryDevice::gpu)};

/// --device.
void add_device_option(CLI::App& command, std::string& device);

/// --gpu: the first one's number.
void add_gpu_option(CLI::App& command, unsigned& gpu);
/// A validator that takes numbers of GPUs, and "all" as 0.
CLI::Validator gpus_validator();

/// --strategy NAME, and what strategies can be told.
void add_strategy_options(CLI::App& command, std::string& strategy, gpu::StrategyOptions& options);
/// --strategies NAME,..., for those that compare them.
void add_strategy_options(CLI::App& command, std::vector<std::string>& strategies, gpu::StrategyOptions& options);

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
