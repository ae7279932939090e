#pragma once
#include <vector>

#include "quern/measure/gpu/cache_bench.hpp"

/// The throughput model of a CacheSubject, from what was measured where nothing is predicted.
namespace quern {

class CacheModel {
 public:
  /// `find_us`, `decode_us_per_byte`: as CacheSubject has them.
  CacheModel(double find_us, double decode_us_per_byte) : find_us_(find_us), decode_us_per_byte_(decode_us_per_byte) {}

  /// Adds a run with all lists in the memory, and returns its times.
  const ResidentTimes& add(const CacheSetting& setting, const EngineRun& run);
  /// Adds a copy of whole lists, or of lists by windows of documents.
  void add(const TransferTime& copied, bool by_windows) { (by_windows ? window_copies_ : copies_).push_back(copied); }

  /// What a query takes in a configuration whose k was added: c as it was measured for batches of that size, linear in
  /// 1/n between two, and the decoding of lists that come by windows; t by its fit.
  StageTimes stages(const CacheSetting& setting, const CopyDemand& demand) const;
  /// The time of a query with all lists in the memory, in microseconds.
  double resident_us(const CacheSetting& setting) const;
  /// c and t as files have them, for this k, and for batches that copy lists in this way.
  MeasuredPoints points(std::size_t k, bool by_windows) const;
  const std::vector<ResidentTimes>& resident() const { return resident_; }

 private:
  /// A figure of the runs with the setting's k, at batches of n queries; of runs one at a time only for others.
  double at_batch(const CacheSetting& setting, double n, double (*figure)(const ResidentTimes&)) const;

  double find_us_, decode_us_per_byte_;
  std::vector<ResidentTimes> resident_;
  std::vector<TransferTime> copies_, window_copies_;
};

}  // namespace quern
