#pragma once
#include <string>
#include <vector>

#include "quern/gpu/engine/gpu_statistics.hpp"
#include "quern/query/query_engine.hpp"

#include "command.hpp"

namespace quern::tools {

/// Gathers what the queries of a run took, for --stats.
class RunStatistics {
 public:
  void add(const QueryAnswer& answer) {
    counts_ += answer.statistics;
    times_us_.push_back(answer.time_us);
  }
  void add(const GpuStatistics& gpu) { gpu_ += gpu; }

  std::size_t queries() const { return times_us_.size(); }
  /// Times, counts, and what GPUs did where there were any. `seconds` is what all queries took together.
  Json json(const QueryEngine& engine, double seconds) const;
  /// The same for people, a line or two.
  std::vector<std::string> lines(const QueryEngine& engine, unsigned threads, double seconds) const;

 private:
  double rate(double seconds) const;

  QueryStatistics counts_;
  std::vector<double> times_us_;
  GpuStatistics gpu_;
};

}  // namespace quern::tools
