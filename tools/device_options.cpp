#include "device_options.hpp"

namespace quern::tools {

void add_device_option(CLI::App& command, std::string& device) {
  command
      .add_option("--device", device, "Where queries run: cpu, gpu, or auto (a GPU where one can answer, else the CPU)")
      ->type_name("NAME")
      ->check(name_validator(names_of(all_query_devices)))
      ->capture_default_str();
}

}  // namespace quern::tools
