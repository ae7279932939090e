#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "quern/gpu/engine/batch_runner.hpp"

namespace quern {

/// What GPUs made of queries, and where the time went. Times of several GPUs add up.
struct GpuStatistics {
  std::uint64_t queries = 0, batches = 0;
  std::uint64_t on_cpu = 0;              ///< queries that the CPU answered, since they are beyond what a GPU takes
  std::uint64_t run_again = 0;           ///< queries for which too many documents came into question at first
  double prepare_us = 0;                 ///< terms, lists and batches, on the CPU
  gpu::BatchTimes device;                ///< of all batches
  gpu::BatchCounts counts;               ///< likewise
  std::vector<std::string> failed_gpus;  ///< which of several GPUs failed, and how; the others did their work

  GpuStatistics& operator+=(const GpuStatistics& other) {
    queries += other.queries;
    batches += other.batches;
    on_cpu += other.on_cpu;
    run_again += other.run_again;
    prepare_us += other.prepare_us;
    device += other.device;
    counts += other.counts;
    failed_gpus.insert(failed_gpus.end(), other.failed_gpus.begin(), other.failed_gpus.end());
    return *this;
  }
};

}  // namespace quern
