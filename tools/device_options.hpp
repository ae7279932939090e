#pragma once
#include <string>

#include "quern/gpu/failover.hpp"

#include "command.hpp"

/// --device: where queries run.
namespace quern::tools {

inline const std::string cpu_device{name_of_value(all_query_devices, QueryDevice::cpu)};
inline const std::string gpu_device{name_of_value(all_query_devices, QueryDevice::gpu)};

/// --device.
void add_device_option(CLI::App& command, std::string& device);

}  // namespace quern::tools
