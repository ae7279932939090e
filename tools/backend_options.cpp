#include "backend_options.hpp"

#include <utility>

#include "figures.hpp"

namespace quern::tools {

void add_sharing_options(CLI::App& command, SharingArguments& arguments) {
  add_name_option(command, "--schedule", arguments.schedule, all_schedule_policies(),
                  with_choices("With --device both, how queries are assigned:", all_schedule_policies()));
  add_deadline_option(command, arguments.deadline_ms);
  add_option(
      command, "--costs", arguments.costs, "FILE",
      "With --device both, predict query times with the functions written by quern bench cost (default: built in)");
}

void check_sharing(const SharingArguments& arguments, QueryDevice device) {
  if (device == QueryDevice::both) return;
  if (!arguments.costs.empty()) throw usage_error("--costs needs --device both");
  if (arguments.deadline_ms > 0) throw usage_error("--deadline needs --device both");
}

BackendOptions backend_options(QueryDevice device, const GpuOptions& gpu, const SharingArguments& sharing,
                               unsigned threads, const IndexReader& index, FailoverNotice notice) {
  BackendOptions options;
  options.device = device;
  options.gpu = gpu;
  options.notice = std::move(notice);
  if (device != QueryDevice::both) return options;
  HybridOptions& hybrid = options.hybrid;
  hybrid.schedule = sharing.schedule;
  hybrid.schedule_options = sharing.options;
  // The others prepare batches and work with the GPUs.
  const unsigned for_gpus = hybrid.gpu_threads + 1;
  hybrid.schedule_options.cpu_threads = threads > for_gpus ? threads - for_gpus : 1;
  hybrid.schedule_options.gpus = 1;  // all of them answer a batch together
  hybrid.deadline_us = 1000 * sharing.deadline_ms;
  // Asking takes the lock under which batches are made.
  hybrid.counts_missing = sharing.schedule == "share" || !sharing.costs.empty();
  if (!sharing.costs.empty()) options.costs = CostModel(read_costs(sharing.costs, origin_here(index, gpu.gpu)));
  return options;
}

void add_deadline_option(CLI::App& command, double& deadline_ms) {
  add_number_option(command, "--deadline", deadline_ms, "MS",
                    "Deadline per query from arrival to answer, in milliseconds; 0: none", 0.0, 1e9);
}

void add_gpu_batches_option(CLI::App& command, ScheduleOptions& options) {
  add_number_option(command, "--gpu-batches", options.gpu_batches, "N",
                    "Batches that a GPU is given at a time; with 3, one is prepared while another runs and results of "
                    "a third are collected",
                    1u, 16u);
}

void add_policy_options(CLI::App& command, ScheduleOptions& options) {
  add_number_option(command, "--max-blocks", options.max_blocks, "N",
                    "For lbd: maximum blocks of a query that goes to a GPU");
  add_number_option(command, "--gpu-share", options.gpu_share, "X", "For share: the GPUs' share of the predicted costs",
                    0.0, 1.0);
  add_number_option(command, "--seed", options.seed, "N", "Seed of sd, and of random arrivals");
}

}  // namespace quern::tools
