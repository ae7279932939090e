#include "device_options.hpp"

#include "quern/gpu/engine/gpu_engine.hpp"

namespace quern::tools {

void add_device_option(CLI::App& command, std::string& device) {
  command
      .add_option("--device", device, "Where queries run: cpu, gpu, or auto (a GPU where one can answer, else the CPU)")
      ->type_name("NAME")
      ->check(name_validator({cpu_device, gpu_device, auto_device}))
      ->capture_default_str();
}

void require_gpu(unsigned gpu) {
  GpuOptions options;
  options.gpu = gpu;
  GpuEngine::numbers_of(options);
}

}  // namespace quern::tools
