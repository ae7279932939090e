#pragma once
#include <nlohmann/json.hpp>

#include "quern/core/figures.hpp"
#include "quern/gpu/device/gpu_statistics.hpp"
#include "quern/lab/gpu/transfer_bench.hpp"
#include "quern/plan/throughput_model.hpp"

/// Compares the throughput of a GPU with less memory than the index with the model's predictions (Wang et al. 4.2 and
/// 4.3). Host code: CacheSubject hides the machine.
namespace quern {

// The configurations of a GPU's cache that `quern bench gpu-cache` measures.

/// The name of a memory that holds all lists.
inline constexpr std::string_view whole_memory = "all";
/// No plan: all memory for lists is a dynamic cache.
inline constexpr std::string_view no_policy = "none";

/// One configuration of the engine.
struct CacheSetting {
  std::string memory{whole_memory};  ///< for lists and list buffers, in the command line's syntax
  std::string policy{no_policy};     ///< of the plan
  double max_admission = 1;          ///< lambda of the plan
  std::size_t k = 10;
  std::size_t batch = 256;        ///< queries per batch; 1: queries run one at a time
  std::uint64_t list_buffer = 0;  ///< bytes for the lists that a batch misses, of each of two: S_b; 0: no buffers

  bool operator==(const CacheSetting&) const = default;
};

enum class GridPart { memories, buffers, lambdas, ks, single };

inline constexpr NamedValue<GridPart> grid_parts[] = {
    {"memories", GridPart::memories, "all memories, policies and batch sizes"},
    {"buffers", GridPart::buffers, "all memories, policies and list buffers at the base batch"},
    {"lambdas", GridPart::lambdas, "all memories, policies and lambdas at the base batch"},
    {"ks", GridPart::ks, "all k and policies at the base memory and batch"},
    {"single", GridPart::single, "all policies at the base memory, queries one at a time"},
};

struct CacheGrid {
  std::vector<GridPart> parts = {GridPart::memories, GridPart::buffers, GridPart::lambdas, GridPart::ks,
                                 GridPart::single};
  std::vector<std::string> memories = {"5%", "10%", "20%", "40%", "70%", "100%"};
  /// Memories of the runs that calibrate the costs of windows and the overlap of copies with work for all others; they
  /// must differ from `memories`.
  std::vector<std::string> calibrating = {"7%", "30%"};
  std::vector<std::string> policies;  ///< may include no_policy
  std::vector<std::size_t> batches = {16, 256, 4096, 16384};
  std::vector<double> max_admissions = {0.75, 0.85, 0.95, 1};
  std::vector<std::size_t> ks = {1, 5, 10, 15};
  std::vector<std::uint64_t> list_buffers;
  /// Values that parts of the grid do not vary. Its policy is ignored.
  CacheSetting base{"20%", std::string(no_policy), 1, 10, 256, 0};
  std::vector<double> limits_ms = {5, 50, 100, 150, 0};  ///< response times to compute splits for; 0: no limit
};

/// Throws InvalidArgument if a number is out of range, a policy is unknown, a list is empty, or a memory is both
/// measured and used for calibration.
void check_cache_grid(const CacheGrid& grid);

/// All distinct configurations of the grid's parts, grouped by memory and plan. Without a plan, lambda is always 1.
std::vector<CacheSetting> settings_of(const CacheGrid& grid);
/// The configurations with all lists in memory that models need: each k and batch of settings_of(), and the base's k
/// with all batch sizes.
std::vector<CacheSetting> resident_settings(const CacheGrid& grid);
/// The calibrating configurations: all batch sizes but 1, without a plan.
std::vector<CacheSetting> calibrating_settings(const CacheGrid& grid);
/// The configurations for the curves dq(S_c): all memories and policies, all batch sizes and 1, at the base's k and
/// lambda.
std::vector<CacheSetting> curve_settings(const CacheGrid& grid);

// The costs of windows of documents: a fixed cost per window, one per list and one per byte.

/// The work of a query's or batch's windows.
struct WindowWork {
  double bytes = 0;         ///< copied or needed by the windows
  double window_lists = 0;  ///< lists, counted once per window
  double windows = 0;
};

/// Costs in microseconds, none negative.
struct WindowCosts {
  double per_byte = 0, per_window_list = 0, per_window = 0;

  double us(const WindowWork& work) const {
    return per_byte * work.bytes + per_window_list * work.window_lists + per_window * work.windows;
  }
};

struct WindowSample {
  WindowWork work;
  double us = 0;
  double all_us = 0;  ///< total time that includes `us`: distances are relative to it
};

/// The least-squares costs; all 0 without samples.
WindowCosts fit_window_costs(const std::vector<WindowSample>& samples);

// Measurements.

/// Figures of one configuration that answers all queries.
struct EngineRun {
  std::uint64_t queries = 0;
  double seconds = 0;              ///< from texts to results; median over the repeats
  GpuStatistics statistics;        ///< of the last repeat
  std::uint64_t results_hash = 0;  ///< of all documents and score bits
};

/// The lists that queries need, from a replay without a GPU.
struct CopyDemand {
  bool whole_index = false;              ///< all lists fit, so nothing is copied
  std::uint64_t list_bytes = 0;          ///< memory for lists
  std::uint64_t cache_bytes = 0;         ///< part of it available to a plan: S_c
  std::uint64_t plan_bytes = 0;          ///< size of the plan; 0 without one
  double needed_bytes = 0;               ///< per query: lists of its batch, each once
  double copied_bytes = 0;               ///< per query: missing ones among them: dq
  double batch_queries = 0;              ///< on average: batches shrink if their lists do not fit
  double windowed = 0;                   ///< share of batches that go through windows of documents
  double windows_per_batch = 1;          ///< on average, over these
  double windows = 0, window_lists = 0;  ///< per query; window_lists counts a list once per window
  double list_hits = 0;                  ///< share of a batch's lists that are fully resident
};

/// The subject of the benchmark: a machine, an index and a log.
class CacheSubject {
 public:
  virtual ~CacheSubject() = default;
  /// Answers all queries, or, in batches of 1, some of them one at a time. Throws GpuOutOfMemory if the setting has too
  /// little memory.
  virtual EngineRun run(const CacheSetting& setting) = 0;
  /// The demand of the queries that run() answers. Throws GpuOutOfMemory likewise.
  virtual CopyDemand demand(const CacheSetting& setting) = 0;
  /// Microseconds for finding the lists of a query, with all threads.
  virtual double find_us() = 0;
  /// Copies lists of up to `bytes` bytes as the engine does, whole or by windows of documents.
  virtual TransferTime copy_lists(std::uint64_t bytes, bool by_windows) = 0;
  /// Copies `bytes` bytes at once from pinned memory.
  virtual TransferTime copy_pinned(std::uint64_t bytes) = 0;
};

/// A breakdown of a query's time, in microseconds.
struct QueryTimes {
  double total = 0;  ///< from texts to results
  double host = 0;   ///< finding lists, preparing batches, and gathering whole lists to copy
  double gpu = 0;    ///< kernels, and copies of queries and results
  double copying = 0;
  double cpu = 0;  ///< on queries that a GPU could not finish because their lists were incomplete
};
QueryTimes times_of(const EngineRun& run);

/// c(n), from a run without copies.
struct ResidentTimes {
  CacheSetting setting;
  double batch_queries = 0;  ///< on average
  QueryTimes times;
  double query_us = 0;  ///< c: the sum of its parts, or the total time if that is more
  double host_us = 0;   ///< c_host: preparing a batch, without finding lists
  double gpu_us = 0;    ///< c_gpu: at most the total minus the other stages
  double alone_us = 0;  ///< c_alone: time that overlapped stages don't explain; at least finding lists
};

/// A run that is only used for calibration. All its batches copy lists in the same way.
struct CalibratingRun {
  CacheSetting setting;
  CopyDemand demand;
  double batches = 1;
  QueryTimes times;
};

/// A configuration's measured and predicted figures. Rates are queries per second.
struct CachePoint {
  CacheSetting setting;
  CopyDemand demand;
  EngineRun run;
  QueryTimes times;
  double resident_us = 0;              ///< per query with all lists resident
  std::optional<double> hidden_share;  ///< share of copying hidden by other work; empty without copies
  StageTimes stages;                   ///< predicted
  double in_turn = 0, overlapped = 0;  ///< predicted rates: without overlap (Wang et al.), and with it

  double measured() const { return 1e6 / times.total; }
};

/// The throughput model of a CacheSubject, from measurements that it doesn't predict.
class CacheModel {
 public:
  /// `find_us`: see CacheSubject.
  explicit CacheModel(double find_us) : find_us_(find_us) {}

  /// Adds a run with all lists in memory, and returns its times.
  const ResidentTimes& add(const CacheSetting& setting, const EngineRun& run);
  /// Adds a copy of whole lists, or of lists by windows of documents.
  void add(const TransferTime& copied, bool by_windows) { (by_windows ? window_copies_ : copies_).push_back(copied); }

  /// Adds a run in which all batches run in windows of documents, or none. Call after adding all copies and a run with
  /// its k and all lists in memory.
  void add(const CalibratingRun& run);

  /// A query's predicted stages; its k must have been added. c is the measured value for the batch size, interpolated
  /// linearly in 1/n; t and the costs of windows, which include t, come from their fits.
  StageTimes stages(const CacheSetting& setting, const CopyDemand& demand) const;
  /// The time of a query with all lists in memory, in microseconds.
  double resident_us(const CacheSetting& setting) const;
  /// Points of c and t, in the form of point files, for this k and way of copying lists.
  MeasuredPoints points(std::size_t k, bool by_windows) const;
  const std::vector<ResidentTimes>& resident() const { return resident_; }
  WindowCosts window_copies() const { return fit_window_costs(window_copies_us_); }
  /// Costs beyond c_gpu(n): windows decode their lists again, and each waits for its last thread block.
  WindowCosts window_kernels() const { return fit_window_costs(window_kernels_us_); }

 private:
  /// A figure of the runs with the setting's k, for batches of n queries. Runs of queries one at a time count only for
  /// such settings.
  double at_batch(const CacheSetting& setting, double n, double (*figure)(const ResidentTimes&)) const;

  /// The stages if the longer of copying and the GPU's work hid the other completely.
  StageTimes hidden_stages(const CacheSetting& setting, const CopyDemand& demand) const;
  /// The time that hidden_stages() don't explain, as a share of the shorter of the two, from runs with this share of
  /// batches by windows and about n queries per batch.
  double unhidden_share(double windowed, double n) const;

  double find_us_;
  std::vector<ResidentTimes> resident_;
  std::vector<TransferTime> copies_, window_copies_;
  std::vector<WindowSample> window_copies_us_, window_kernels_us_;  ///< per query
  std::vector<CalibratingRun> runs_;
};

/// The best predicted split of a memory within a response time.
struct CacheSplit {
  std::string memory, policy;
  double limit_ms = 0;  ///< 0: none
  StageOverlap overlap = StageOverlap::none;
  std::size_t curve_batch = 0;       ///< batch size of the curve of dq
  std::optional<MemorySplit> split;  ///< empty if none is within the limit
};

/// The measured points of one policy and batch size.
struct PolicyPoints {
  std::string policy;
  std::size_t batch = 0;
  double batch_queries = 0;  ///< minimum average number of queries in batches of this size
  bool by_windows = false;   ///< whether most of them copy lists by windows
  MeasuredPoints points;
};

/// A setting that has too little memory.
struct LeftOutSetting {
  CacheSetting setting;
  std::string why;
};

struct CacheBenchFigures {
  std::vector<ResidentTimes> resident;
  std::vector<TransferTime> copied_lists, copied_windows, pinned_copies;
  std::vector<CalibratingRun> calibrating_runs;
  WindowCosts window_copies, window_kernels;  ///< costs of windows; kernels beyond c_gpu(n)
  std::vector<PolicyPoints> curves;
  std::vector<CachePoint> points;
  std::vector<CacheSplit> splits;
  std::vector<LeftOutSetting> left_out;
};

/// Measures c(n), t(S_b), the costs of windows of documents and the share of stages that does not overlap; then the
/// grid, with predictions that use nothing of the predicted run; then computes the best splits. Leaves out settings
/// with too little memory. Throws Error if a configuration's results differ from those with all lists in memory;
/// InvalidArgument if the grid is invalid or not all lists fit; and what the subject throws.
CacheBenchFigures measure_cache(CacheSubject& subject, const CacheGrid& grid, Progress& progress);

// Figures as `quern bench gpu-cache` prints them. Times are microseconds per query, rates queries per second.

/// `head`: of the column of bytes.
FigureRow figures_of(const TransferTime& copy, const char* head);
FigureRow figures_of(const WindowCosts& costs);
FigureRow figures_of(const ResidentTimes& resident);
FigureRow figures_of(const CachePoint& point);
FigureRow figures_of(const CacheSplit& split);
FigureRow figures_of(const LeftOutSetting& left_out);
/// All figures, in the format that scripts/plot reads.
nlohmann::ordered_json cache_bench_json(const CacheBenchFigures& figures, const CacheGrid& grid);

}  // namespace quern
