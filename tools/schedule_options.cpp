#include "schedule_options.hpp"

namespace quern::tools {
void add_deadline_option(CLI::App& command, double& deadline_ms) {
  add_number_option(command, "--deadline", deadline_ms, "MS",
                    "Time from arrival to answer that is not to be exceeded, in milliseconds; 0: none", 0.0, 1e9);
}

void add_gpu_batches_option(CLI::App& command, ScheduleOptions& options) {
  add_number_option(command, "--gpu-batches", options.gpu_batches, "N",
                    "Batches that a GPU is given at a time; with 3, one is made while another runs and a third has its "
                    "answers taken",
                    1u, 16u);
}

void add_policy_options(CLI::App& command, ScheduleOptions& options) {
  add_number_option(command, "--max-blocks", options.max_blocks, "N",
                    "For lbd: blocks of queries that go to GPUs, at most");
  add_number_option(command, "--gpu-share", options.gpu_share, "X", "For share: what GPUs take of the predicted costs",
                    0.0, 1.0);
  add_number_option(command, "--seed", options.seed, "N", "Seed of sd, and of arrivals that are random");
}

}  // namespace quern::tools
