#include "device_options.hpp"

#include "quern/gpu/device_info.hpp"

#include "gpu_figures.hpp"

namespace quern::tools {

void add_device_options(CLI::App& command, std::string& device, unsigned& gpu) {
  command
      .add_option("--device", device, "Where queries run: cpu, gpu, or auto (a GPU where one can answer, else the CPU)")
      ->type_name("NAME")
      ->check(name_validator({cpu_device, gpu_device, auto_device}))
      ->capture_default_str();
  add_gpu_option(command, gpu);
}

void require_gpu() {
  if (list_gpus().empty() && built_with_cuda())
    throw CudaError("this machine has no GPU that CUDA can use; ask for --device cpu");
}

}  // namespace quern::tools
