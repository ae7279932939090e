#pragma once
#include "quern/lab/gpu/cache_bench.hpp"

/// The throughput model of a CacheSubject, from measurements that it doesn't predict.
namespace quern {

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

}  // namespace quern
