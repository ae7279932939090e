#pragma once
#include <string>

#include "quern/gpu/intersection/gpu_intersection.hpp"

#include "command.hpp"

/// How a GPU intersects, on command lines and in figures.
namespace quern::tools {

inline constexpr const char* switch_on = "on";
inline constexpr const char* switch_off = "off";

/// The names of GPU methods, and a help text with a line for each.
std::vector<std::string> gpu_method_names();
std::string gpu_method_help();
/// packed, whole, single.
std::vector<std::string> transfer_names();
std::string transfer_name(gpu::ResultTransfer transfer);
gpu::ResultTransfer transfer_named(const std::string& name);
/// Where the time of a run went, and what was unpacked.
Json gpu_statistics_json(const GpuIntersectionStatistics& statistics);

}  // namespace quern::tools
