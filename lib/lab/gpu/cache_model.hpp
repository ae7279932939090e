#pragma once
#include <vector>

#include "quern/lab/gpu/cache_bench.hpp"

/// The throughput model of a CacheSubject, from what was measured where nothing is predicted.
namespace quern {

class CacheModel {
 public:
  /// `find_us`: as CacheSubject has it.
  explicit CacheModel(double find_us) : find_us_(find_us) {}

  /// Adds a run with all lists in the memory, and returns its times.
  const ResidentTimes& add(const CacheSetting& setting, const EngineRun& run);
  /// Adds a copy of whole lists, or of lists by windows of documents.
  void add(const TransferTime& copied, bool by_windows) { (by_windows ? window_copies_ : copies_).push_back(copied); }

  /// Adds a run whose batches all go by windows of documents, or none of them. Its k was added, with all lists in the
  /// memory, and all copies were.
  void add(const CalibratingRun& run);

  /// What a query takes in a configuration whose k was added: c as it was measured for batches of that size, linear in
  /// 1/n between two; t by its fit; and what windows of documents cost by theirs, of which t is a part.
  StageTimes stages(const CacheSetting& setting, const CopyDemand& demand) const;
  /// The time of a query with all lists in the memory, in microseconds.
  double resident_us(const CacheSetting& setting) const;
  /// c and t as files have them, for this k, and for batches that copy lists in this way.
  MeasuredPoints points(std::size_t k, bool by_windows) const;
  const std::vector<ResidentTimes>& resident() const { return resident_; }
  WindowCosts window_copies() const { return fit_window_costs(window_copies_us_); }
  /// Beyond c_gpu(n), since windows decode their lists anew, and kernels end with the last thread block of each.
  WindowCosts window_kernels() const { return fit_window_costs(window_kernels_us_); }

 private:
  /// A figure of the runs with the setting's k, at batches of n queries; of runs one at a time only for others.
  double at_batch(const CacheSetting& setting, double n, double (*figure)(const ResidentTimes&)) const;

  /// stages() as if the longer of copying and the GPU's work hid all of the other.
  StageTimes hidden_stages(const CacheSetting& setting, const CopyDemand& demand) const;
  /// What these do not explain, as a share of the shorter of the two; of runs with this share of batches by windows and
  /// about so many queries in each.
  double unhidden_share(double windowed, double n) const;

  double find_us_;
  std::vector<ResidentTimes> resident_;
  std::vector<TransferTime> copies_, window_copies_;
  std::vector<WindowSample> window_copies_us_, window_kernels_us_;  ///< per query
  std::vector<CalibratingRun> runs_;
};

}  // namespace quern
