#pragma once
#include "quern/gpu/intersect/gpu_intersection.hpp"

/// Compares intersections on a GPU with those on the CPU of the same machine, all methods in one run.
namespace quern {

struct GpuIntersectSetUp {
  const GpuIntersectionMethod* method = nullptr;
  GpuIntersectionOptions options;
};

struct GpuIntersectFigures {
  GpuIntersectSetUp set_up;
  std::size_t gpus = 1;       ///< that answered
  double seconds = 0;         ///< for all queries, from terms to documents; the median over the repeats, like the next
  double kernel_seconds = 0;  ///< of these in kernels, the mean over the GPUs
  double first_seconds = 0;   ///< of the first pass, in which lists are unpacked
  GpuIntersectionStatistics first, last;  ///< of the first pass, and of the last repeat
};

struct CpuIntersectFigures {
  const IntersectionMethod* method = nullptr;
  double seconds = 0;  ///< on all threads; median over the repeats
};

struct GpuIntersectReport {
  std::uint64_t queries = 0, results = 0, postings = 0;
  std::uint64_t index_bytes = 0;  ///< GPU memory of the index
  std::vector<CpuIntersectFigures> cpu;
  std::vector<GpuIntersectFigures> gpu;
};

/// Answers all queries by each CPU method on `threads` threads and by each set-up on the GPUs. Before it measures, it
/// compares all documents with those of the first CPU method, which are kept in memory. Throws Error, naming query and
/// method, if they differ; InvalidArgument if there is nothing to measure.
GpuIntersectReport measure_gpu_intersections(const IndexReader& index, std::span<const QueryView> queries,
                                             std::span<const IntersectionMethod* const> cpu_methods,
                                             std::span<const GpuIntersectSetUp> set_ups, unsigned threads,
                                             unsigned repeats, Progress& progress);

}  // namespace quern
