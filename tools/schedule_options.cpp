#include "schedule_options.hpp"

#include <cstdint>
#include <limits>

namespace quern::tools {
namespace {

constexpr std::uint64_t any = std::numeric_limits<std::uint64_t>::max();

}  // namespace

void add_deadline_option(CLI::App& command, double& deadline_ms) {
  command
      .add_option("--deadline", deadline_ms,
                  "Time from arrival to answer that is not to be exceeded, in milliseconds; 0: none")
      ->type_name("MS")
      ->check(range_validator(0.0, 1e9))
      ->capture_default_str();
}

void add_gpu_batches_option(CLI::App& command, ScheduleOptions& options) {
  command
      .add_option("--gpu-batches", options.gpu_batches,
                  "Batches that a GPU is given at a time; with 3, one is made while another runs and a third has its "
                  "answers taken")
      ->type_name("N")
      ->check(range_validator(1u, 16u))
      ->capture_default_str();
}

void add_policy_options(CLI::App& command, ScheduleOptions& options) {
  command.add_option("--max-blocks", options.max_blocks, "For lbd: blocks of queries that go to GPUs, at most")
      ->type_name("N")
      ->check(range_validator(std::uint64_t{0}, any))
      ->capture_default_str();
  command.add_option("--gpu-share", options.gpu_share, "For share: what GPUs take of the predicted costs")
      ->type_name("X")
      ->check(range_validator(0.0, 1.0))
      ->capture_default_str();
  command.add_option("--seed", options.seed, "Seed of sd, and of arrivals that are random")
      ->type_name("N")
      ->check(range_validator(std::uint64_t{0}, any))
      ->capture_default_str();
}

}  // namespace quern::tools
