#include "device_options.hpp"

namespace quern::tools {

void add_device_option(CLI::App& command, std::string& device) {
  std::vector<std::string> names;
  for (const QueryDevice each : all_query_devices) names.emplace_back(query_device_name(each));
  command
      .add_option("--device", device, "Where queries run: cpu, gpu, or auto (a GPU where one can answer, else the CPU)")
      ->type_name("NAME")
      ->check(name_validator(names))
      ->capture_default_str();
}

}  // namespace quern::tools
