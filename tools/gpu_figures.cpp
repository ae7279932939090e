#include "gpu_figures.hpp"

namespace quern::tools {

void add_gpu_option(CLI::App& command, unsigned& gpu) {
  command.add_option("--gpu", gpu, "Number of the GPU, or of the first, as quern --version lists them")
      ->type_name("N")
      ->capture_default_str();
}

CLI::Validator gpus_validator() {
  const auto check = [](std::string& number) {
    if (number == "all") number = "0";
    const bool is_number =
        !number.empty() && number.size() < 4 && number.find_first_not_of("0123456789") == std::string::npos;
    return is_number ? std::string() : number + " is neither a number of GPUs nor \"all\"";
  };
  return CLI::Validator(check, "");
}

Json gpu_json(const GpuStatistics& statistics) {
  const gpu::BatchTimes& times = statistics.device;
  Json json = {{"batches", statistics.batches},     {"on_cpu", statistics.on_cpu},
               {"run_again", statistics.run_again}, {"prepare_us", statistics.prepare_us},
               {"upload_us", times.upload_us},      {"decode_us", times.decode_us},
               {"unite_us", times.unite_us},        {"finish_us", times.finish_us},
               {"download_us", times.download_us},  {"total_us", times.total_us}};
  const double kernels_us = times.kernels_us();
  const auto share = [&](double us) { return kernels_us > 0 ? us / kernels_us : 0; };
  json["stages"] = {{"initialization", share(times.decode_us)},
                    {"scoring", share(times.unite_us)},
                    {"merging", share(times.finish_us)}};
  return json;
}

}  // namespace quern::tools
