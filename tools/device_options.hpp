#pragma once
#include <fmt/format.h>

#include <string>

#include "quern/core/error.hpp"

#include "command.hpp"

/// --device: where queries run.
namespace quern::tools {

inline constexpr const char* cpu_device = "cpu";
inline constexpr const char* gpu_device = "gpu";
inline constexpr const char* auto_device = "auto";

/// --device.
void add_device_option(CLI::App& command, std::string& device);

/// Throws CudaError where this machine, or this build, has no GPU; InvalidArgument where it has none of that number.
void require_gpu(unsigned gpu);

/// What make() gives, a pointer, if queries are to run on a GPU. With "auto" it is said what stands in the way, and
/// nothing comes back.
template <class Make>
auto gpu_or_nothing(const std::string& device, const CommonOptions& common, Make&& make) -> decltype(make()) {
  if (device == cpu_device) return nullptr;
  try {
    return make();
  } catch (const Error& error) {
    if (device == gpu_device) throw;
    say(common, fmt::format("quern: queries run on the CPU: {}", error.what()));
    return nullptr;
  }
}

}  // namespace quern::tools
