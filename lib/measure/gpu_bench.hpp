#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "quern/core/progress.hpp"
#include "quern/gpu/gpu_engine.hpp"

/// Measures how fast a GPU answers queries beside the CPU of the same machine, in one run.
namespace quern {

struct GpuBenchOptions {
  unsigned gpu = 0;
  unsigned threads = 1;  ///< of the CPU
  unsigned repeats = 3;
  bool cpu = true;  ///< measure the CPU too; results are compared in any case
};

struct GpuBenchFigures {
  const QueryAlgorithm* algorithm = nullptr;
  std::size_t k = 0, batch_queries = 0, queries = 0;
  double seconds = 0;          ///< for all queries, from text to results; the median over the repeats, like the next
  double kernel_seconds = 0;   ///< of them in kernels
  double cpu_seconds = 0;      ///< on all threads; 0 where it was not measured
  std::uint64_t postings = 0;  ///< in the queries' lists
  GpuStatistics statistics;    ///< of the last repeat
};

/// Answers all queries on the CPU, then on the GPU by each algorithm, k and batch size, and compares document by
/// document, bit by bit. Throws Error where results differ, with query and algorithm.
std::vector<GpuBenchFigures> measure_gpu(const QueryEngine& engine, std::span<const std::string_view> texts,
                                         std::span<const QueryAlgorithm* const> algorithms,
                                         std::span<const std::size_t> ks, std::span<const std::size_t> batches,
                                         const GpuBenchOptions& options, Progress& progress);

}  // namespace quern
