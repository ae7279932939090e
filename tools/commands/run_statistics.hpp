#pragma once
#include "quern/gpu/query_backend.hpp"
#include "quern/gpu/rank/gpu_reranker.hpp"

#include "command.hpp"
#include "figures.hpp"
#include "query_options.hpp"

namespace quern::tools {

/// What a run was asked for.
struct RunSettings {
  const CommonOptions& common;
  std::string algorithm;
  std::size_t k;
  std::string expand;  ///< a model of query expansion; empty: none
  std::size_t rerank;  ///< results for the second stage; 0 without one
  unsigned threads;
};

/// The times and counts of a run's queries, for --stats.
class RunStatistics {
 public:
  explicit RunStatistics(const std::string& tmp_folder) : times_us_(tmp_folder) {}

  void add(const QueryAnswer& answer) {
    counts_ += without_repeats(answer.statistics);
    unproven_ += answer.statistics.bound_left.has_value();
    times_us_.add(answer.time_us);
  }
  /// What GPUs did, for each shard, and how queries were shared with the CPU.
  void add(const QueryBackend& backend);
  /// For searches with a budget: says of how many queries the results are not proven exact.
  void report_unproven(const CommonOptions& options) const;
  /// Writes settings, times, counts, and the work of GPUs if there were any. `reranker`: null if no GPU reranked.
  /// `seconds` is the time of all queries together.
  void write(StatisticsFile& file, const RunSettings& settings, const QueryEngine& engine,
             const gpu::GpuReranker* reranker, double seconds) const;

 private:
  /// Times and counts for people.
  void say_summary(const RunSettings& settings, const LatencySummary& times, double rate, bool ends_early) const;

  QueryStatistics counts_;
  std::uint64_t unproven_ = 0;  ///< queries whose results are not proven exact
  LatencyLog times_us_;
  GpuStatistics gpu_;
  std::vector<GpuStatistics> shards_;  ///< of each
  std::optional<HybridFigures> hybrid_;
};

}  // namespace quern::tools
