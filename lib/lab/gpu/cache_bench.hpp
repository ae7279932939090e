#pragma once
#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "quern/core/resources.hpp"
#include "quern/gpu/device/gpu_statistics.hpp"
#include "quern/lab/gpu/cache_grid.hpp"
#include "quern/lab/gpu/transfer_bench.hpp"
#include "quern/lab/gpu/window_costs.hpp"
#include "quern/plan/throughput_model.hpp"

/// Compares what a GPU with less memory than the index does with what the throughput model says of it (Wang et al. 4.2
/// and 4.3). Host code: the machine itself is behind CacheSubject.
namespace quern {

/// All queries answered once by one configuration.
struct EngineRun {
  std::uint64_t queries = 0;
  double seconds = 0;              ///< from texts to results; the median over the repeats
  GpuStatistics statistics;        ///< of the last repeat
  std::uint64_t results_hash = 0;  ///< of all documents and the bits of their scores
};

/// What the queries would need of lists, by a replay without a GPU.
struct CopyDemand {
  bool whole_index = false;              ///< all lists are in the memory: nothing is copied
  std::uint64_t list_bytes = 0;          ///< of the memory for lists
  std::uint64_t cache_bytes = 0;         ///< of these, what a plan may take: S_c
  std::uint64_t plan_bytes = 0;          ///< what the plan takes; 0 without one
  double needed_bytes = 0;               ///< per query, of the lists of its batch, each once
  double copied_bytes = 0;               ///< per query, of those that are not there: dq
  double batch_queries = 0;              ///< on average: batches become smaller if their lists do not fit
  double windowed = 0;                   ///< share of batches that go through windows of documents
  double windows_per_batch = 1;          ///< on average, of these
  double windows = 0, window_lists = 0;  ///< per query; the latter: lists, each as often as its batch has windows
  double list_hits = 0;                  ///< share of a batch's lists that are there whole
};

/// A machine, an index and a log.
class CacheSubject {
 public:
  virtual ~CacheSubject() = default;
  /// Answers all queries, or with batches of 1 some of them, one at a time.
  virtual EngineRun run(const CacheSetting& setting) = 0;
  /// Of the queries that run() answers.
  virtual CopyDemand demand(const CacheSetting& setting) = 0;
  /// To find the lists of a query, in all threads; microseconds.
  virtual double find_us() = 0;
  /// Copies lists as the engine does, whole or by windows of documents, of so many bytes; fewer if it has no more.
  virtual TransferTime copy_lists(std::uint64_t bytes, bool by_windows) = 0;
  /// The same bytes in one copy from pinned memory.
  virtual TransferTime copy_pinned(std::uint64_t bytes) = 0;
};

/// Work of the CPU on queries that a GPU could not finish, since parts of their lists were missing.
struct CpuWork {
  std::uint64_t queries = 0;
  double us = 0;
};
/// What GPUs left to the CPU, which goes on with queries whose lists are cut.
CpuWork cpu_work_of(const GpuStatistics& statistics);

/// Where the time of a query went, in microseconds.
struct QueryTimes {
  double total = 0;  ///< from texts to results
  double host = 0;   ///< to find lists and make batches; with whole lists to copy, their gathering too
  double gpu = 0;    ///< its kernels, and queries and results on their way
  double copying = 0;
  double cpu = 0;  ///< see CpuWork
};
QueryTimes times_of(const EngineRun& run);

/// c(n), from a run in which nothing was copied.
struct ResidentTimes {
  CacheSetting setting;
  double batch_queries = 0;  ///< on average
  QueryTimes times;
  double query_us = 0;  ///< c: its parts, one after the other, or all of the time if that is more
  double host_us = 0;   ///< c_host: to make a batch, without finding lists
  double gpu_us = 0;    ///< c_gpu: at most what the other stages leave of the whole
  double alone_us = 0;  ///< c_alone: what the overlapped stages do not explain; at least to find lists
};

/// A run of which nothing is predicted, for what only runs show. Its batches copy lists in one way.
struct CalibratingRun {
  CacheSetting setting;
  CopyDemand demand;
  double batches = 1;
  QueryTimes times;
};

/// A configuration, measured, and what the models say. Rates are queries per second.
struct CachePoint {
  CacheSetting setting;
  CopyDemand demand;
  EngineRun run;
  QueryTimes times;
  double resident_us = 0;              ///< what a query takes with all lists there
  std::optional<double> hidden_share;  ///< of the copying, what the query does not take longer for; none without copies
  StageTimes stages;                   ///< predicted
  double in_turn = 0, overlapped = 0;  ///< the models' rates: without overlap, as Wang et al., and with it

  double measured() const { return 1e6 / times.total; }
};

/// The best split of a memory within a response time, by the model.
struct CacheSplit {
  std::string memory, policy;
  double limit_ms = 0;  ///< 0: none
  StageOverlap overlap = StageOverlap::none;
  std::size_t curve_batch = 0;       ///< the batches for which the curve of dq was made
  std::optional<MemorySplit> split;  ///< none within the limit
};

/// The measured points of one policy with one size of batches.
struct PolicyPoints {
  std::string policy;
  std::size_t batch = 0;
  double batch_queries = 0;  ///< that batches of this size have at least, on average
  bool by_windows = false;   ///< most of them copy lists by windows
  MeasuredPoints points;
};

struct CacheBenchFigures {
  std::vector<ResidentTimes> resident;
  std::vector<TransferTime> copied_lists, copied_windows, pinned_copies;
  std::vector<CalibratingRun> calibrating_runs;
  WindowCosts window_copies, window_kernels;  ///< of those by windows; the latter beyond c_gpu(n)
  std::vector<PolicyPoints> curves;
  std::vector<CachePoint> points;
  std::vector<CacheSplit> splits;
};

/// Measures c(n), t(S_b), what windows of documents cost and what of the stages does not overlap, then the grid, each
/// configuration with its prediction, which uses nothing of its own run; then computes the best splits. Throws Error if
/// a configuration's results are not those with all lists in the memory; InvalidArgument if the grid is wrong, or not
/// all lists fit there; and what the subject throws.
CacheBenchFigures measure_cache(CacheSubject& subject, const CacheGrid& grid, Progress& progress);

/// The figures as `quern bench gpu-cache --json` prints them and scripts/plot reads them. Times are microseconds per
/// query, rates queries per second.
nlohmann::ordered_json cache_bench_json(const CacheBenchFigures& figures, const CacheGrid& grid);

}  // namespace quern
