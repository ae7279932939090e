#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace quern {
namespace gpu {

/// Where a batch's time went, in microseconds of the GPU's clock.
struct BatchTimes {
  double upload_us = 0;
  double decode_us = 0;  ///< lists to entries; 0 for a few intersections, which read the lists themselves
  double unite_us = 0;   ///< to candidates, also for intersections; all kernels of strategies without these steps
  double finish_us = 0;  ///< from candidates to results
  double download_us = 0;
  double total_us = 0;  ///< from the begin of the batch's first step to the end of its last

  double kernels_us() const { return decode_us + unite_us + finish_us; }
  BatchTimes& operator+=(const BatchTimes& other) {
    upload_us += other.upload_us;
    decode_us += other.decode_us;
    unite_us += other.unite_us;
    finish_us += other.finish_us;
    download_us += other.download_us;
    total_us += other.total_us;
    return *this;
  }
};

/// What a batch moves through a GPU's memory if it decodes its lists; else 0.
struct BatchCounts {
  std::uint64_t list_bytes =
      0;  ///< of its lists, each counted once: postings, block rows and the numbers that values are made of
  std::uint64_t entries = 0;  ///< postings of its lists, each list once
  std::uint64_t added = 0;    ///< entries that unions without pruning add up

  BatchCounts& operator+=(const BatchCounts& other) {
    list_bytes += other.list_bytes;
    entries += other.entries;
    added += other.added;
    return *this;
  }
};

}  // namespace gpu

/// What GPUs did with queries, and where the time went. Times of several GPUs add up.
struct GpuStatistics {
  std::uint64_t queries = 0, batches = 0;
  std::uint64_t on_cpu = 0;     ///< queries that the CPU answered, since they have too many terms or results for a GPU
  std::uint64_t run_again = 0;  ///< queries that had more candidates than a GPU keeps when they ran first
  double prepare_us = 0;        ///< terms, lists and batches, on the CPU
  gpu::BatchTimes device;       ///< of all batches
  gpu::BatchCounts counts;      ///< of all batches
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
