#include "gpu_options.hpp"

#include <fmt/format.h>

#include "cache_options.hpp"

namespace quern::tools {

void add_partitions_option(CLI::App& command, gpu::StrategyOptions& options) {
  add_option(command, "--partitions", options.partitions, "N",
             "For partition: ranges of documents, a multiple of 32 from 32 to 512")
      ->check(CLI::Validator(
          [](const std::string& text) -> std::string {
            unsigned number = 0;
            if (read_number(text, number) && gpu::are_partitions(number)) return {};
            return "'" + text + "' is not a multiple of 32 from 32 to 512";
          },
          ""))
      ->capture_default_str();
}

void add_list_options(CLI::App& command, gpu::ListRetention& retention, gpu::ListTransfers& transfers) {
  add_value_option(command, "--cache", retention, gpu::list_retentions,
                   with_choices("Which lists to keep in GPU memory besides the plan's:", gpu::list_retentions));
  add_value_option(command, "--transfers", transfers, gpu::list_transfers,
                   with_choices("How lists that a GPU does not keep are transferred to it:", gpu::list_transfers));
}

void add_gpu_memory_options(CLI::App& command, GpuMemoryArguments& arguments) {
  add_option(command, "--gpu-memory", arguments.limit, "SIZE|P%",
             std::string(gpu_memory_help) + " (default: the free memory, less a margin)")
      ->check(budget_validator());
  add_option(command, "--plan", arguments.plans, "FILE", std::string(plan_help))->allow_extra_args(false);
}

void add_tails_option(CLI::App& command, GpuMemoryArguments& arguments) {
  add_value_option(command, "--tails", arguments.tails, gpu::list_tails,
                   with_choices("For `and` queries: what to do with the rest of a list when GPU memory holds only the "
                                "part that the plan keeps:",
                                gpu::list_tails));
}

gpu::GpuMemoryOptions gpu_memory_limit(const std::string& text) {
  gpu::GpuMemoryOptions options;
  if (const auto percent = percentage(text))
    options.list_share = *percent / 100;
  else if (!text.empty())
    options.bytes = parse_size(text);
  return options;
}

gpu::GpuMemoryOptions memory_options(const GpuMemoryArguments& arguments) {
  gpu::GpuMemoryOptions options = gpu_memory_limit(arguments.limit);
  options.retention = arguments.retention;
  options.tails = arguments.tails;
  options.transfers = arguments.transfers;
  return options;
}

void add_device_option(CLI::App& command, QueryDevice& device, std::span<const NamedValue<QueryDevice>> devices) {
  const auto take = [&device](const CLI::results_t& names) {
    device = find_named(all_query_devices, names.back(), "device").value;
    return true;
  };
  add_option(command, "--device", take, "NAME", with_choices("Where queries run:", devices))
      ->check(name_validator(names_of(devices)))
      ->default_str(std::string(name_of_value(all_query_devices, device)));
}

std::string_view device_name(bool on_gpu) {
  return name_of_value(all_query_devices, on_gpu ? QueryDevice::gpu : QueryDevice::cpu);
}

void add_strategy_options(CLI::App& command, std::string& strategy, gpu::StrategyOptions& options) {
  add_name_option(command, "--strategy", strategy, gpu::all_strategies(),
                  "How a GPU finds the results; every strategy gives the same results:" + gpu::strategies_help());
  add_partitions_option(command, options);
}

void check_strategy(const std::string& strategy, const std::vector<std::string>& algorithms) {
  std::vector<const QueryAlgorithm*> named;
  for (const std::string& algorithm : algorithms) named.push_back(&algorithm_named(algorithm));
  try {
    gpu::check_answers(gpu::strategy_named(strategy), named);
  } catch (const InvalidArgument& wrong) {
    throw CLI::ValidationError(wrong.what());
  }
}

void check_filters(const std::string& strategy, QueryDevice device) {
  if (device != QueryDevice::gpu && device != QueryDevice::both) return;
  try {
    gpu::check_filters(gpu::strategy_named(strategy));
  } catch (const InvalidArgument& wrong) {
    throw CLI::ValidationError(wrong.what());
  }
}

void add_gpu_option(CLI::App& command, unsigned& gpu) {
  add_number_option(command, "--gpu", gpu, "N", "Index of the (first) GPU, as listed by quern --version, from 0", 0u,
                    gpu::max_gpus);
}

CLI::Validator gpus_validator() {
  const auto check = [](std::string& number) {
    if (number == "all") {
      number = "0";
      return std::string();
    }
    unsigned gpus = 0;
    const bool is_number = read_number(number, gpus) && gpus >= 1 && gpus < 1000;
    return is_number ? std::string() : "'" + number + "' is neither a number of GPUs (at least 1) nor all";
  };
  return CLI::Validator(check, "");
}

void add_gpus_option(CLI::App& command, unsigned& gpus) {
  add_option(command, "--gpus", gpus, "N", "Number of GPUs to use, starting with --gpu, or all")
      ->transform(gpus_validator())
      ->capture_default_str();
}

void add_batch_option(CLI::App& command, std::size_t& queries) {
  add_number_option(command, "--batch", queries, "N", "Largest batch of queries that a GPU answers together", 1,
                    gpu::max_batch_queries);
}

}  // namespace quern::tools
