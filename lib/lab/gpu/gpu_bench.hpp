#pragma once
#include "quern/gpu/device/device_info.hpp"
#include "quern/gpu/device/gpu_statistics.hpp"
#include "quern/gpu/query_backend.hpp"
#include "quern/lab/measuring.hpp"
#include "quern/lab/query_bench.hpp"
#include "quern/search/query_statistics.hpp"

namespace quern {

struct GpuLimits {
  double bytes_per_second = 0;      ///< of its memory, measured by a copy
  double additions_per_second = 0;  ///< at random addresses of shared memory
};

/// Measures the bandwidth of GPU `number`, and computes the throughput of its shared memory. Throws CudaError.
GpuLimits limits_of(const GpuInfo& gpu, unsigned number);

/// The minimum time that batches need, and the resource that determines it.
struct GpuBound {
  const char* name = "";
  double seconds = 0;
};

/// The longer of two times: for the GPU's memory, to read the lists once and write their entries (and read these once,
/// if all are added up); for shared memory, to do all additions. Empty if lists were not decoded as a whole, since the
/// required reads are unknown then.
std::optional<GpuBound> bound_of(const gpu::BatchCounts& counts, const GpuLimits& limits);

// Compares GPUs with the CPU of the same machine in one run.

/// A limit of each GPU's memory, and its name in tables.
struct GpuMemoryCase {
  std::string limit = "all", plan = "none";
  gpu::GpuMemoryOptions memory;
};

struct GpuBenchOptions {
  unsigned gpu = 0;               ///< the first
  std::vector<unsigned> gpus{1};  ///< numbers of GPUs to measure; 0: all
  std::vector<std::size_t> ks{10}, batches{4096};
  gpu::StrategyOptions strategy_options;
  std::vector<GpuMemoryCase> memories{{}};  ///< one after another, at least one
  unsigned threads = 1;                     ///< CPU threads
  unsigned repeats = 3;
  bool cpu = true;                   ///< whether to measure the CPU; results are always compared
  QueryKind kind = QueryKind::text;  ///< of the queries
  /// Whether to record the times of single queries. For larger batches, this takes another measurement, in batches of
  /// queries with lists of similar length.
  bool each_query = false;
};

/// Throws InvalidArgument if a number is out of range.
void check_gpu_bench_options(const GpuBenchOptions& options);

/// Maximum number of queries for batches of 1.
inline constexpr std::size_t max_single_queries = 2000;

struct GpuBenchFigures {
  const gpu::Strategy* strategy = nullptr;
  const QueryAlgorithm* algorithm = nullptr;
  std::string memory_limit, plan;  ///< see GpuMemoryCase
  std::size_t k = 0, gpus = 0, batch_queries = 0, queries = 0;
  double seconds = 0;             ///< for all queries, from text to results; median over the repeats, like the next
  double kernel_seconds = 0;      ///< part of it in kernels, averaged over the GPUs
  ProcessTime host;               ///< of one pass; zero for batches of 1
  double cpu_seconds = 0;         ///< for as many queries on all threads; 0 if not measured
  double postings = 0;            ///< in the queries' lists
  GpuStatistics statistics;       ///< of the last repeat
  std::optional<GpuBound> bound;  ///< of the last repeat, for kernel_seconds
  std::optional<double> joules;   ///< for one pass over all queries; empty without counters
  /// For batches of 1: each query's time from text to results, and from the GPU's first step to its last.
  std::optional<LatencySummary> wall_us, device_us;
  std::vector<MeasuredQuery> each_query;  ///< if requested; an even share of its batch's time
};

/// Answers all queries on the CPU, then on GPUs, as QueryBackend does, with each memory by each strategy, number of
/// GPUs, algorithm, k and batch size, and compares results bit for bit. `engines`: as CpuBackend takes them; each GPU
/// has all of one index, or some of several shards. With batches of 1, the first max_single_queries are asked one at a
/// time, as by users who wait for each answer. Leaves out algorithms by which a strategy does not answer queries, but
/// throws InvalidArgument if these are all, or if there are fewer shards than GPUs. Throws Error, naming query,
/// algorithm and strategy, if results differ; otherwise what GpuShards throws.
std::vector<GpuBenchFigures> measure_gpu(const std::vector<const QueryEngine*>& engines,
                                         std::span<const std::string_view> texts,
                                         std::span<const gpu::Strategy* const> strategies,
                                         std::span<const QueryAlgorithm* const> algorithms,
                                         const GpuBenchOptions& options, Progress& progress);

}  // namespace quern
