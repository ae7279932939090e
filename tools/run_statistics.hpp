#pragma once
#include "quern/gpu/device/gpu_statistics.hpp"
#include "quern/gpu/query_backend.hpp"
#include "quern/gpu/rank/gpu_reranker.hpp"
#include "quern/search/query_engine.hpp"
#include "quern/search/query_statistics.hpp"

#include "command.hpp"

namespace quern::tools {

/// What a run's queries were answered with, as --stats names it.
struct RunSettings {
  std::string_view algorithm;
  std::size_t k;
  std::size_t rerank;  ///< documents of a query in the second stage; 0: there is none
  unsigned threads;
};

/// The times and counts of a run's queries, for --stats.
class RunStatistics {
 public:
  explicit RunStatistics(const std::string& tmp_folder) : times_us_(tmp_folder) {}

  void add(const QueryAnswer& answer) {
    counts_ += answer.statistics;
    times_us_.add(answer.time_us);
  }
  /// What GPUs did, for each shard, and how queries were shared with the CPU.
  void add(const QueryBackend& backend);

  std::uint64_t queries() const { return times_us_.count(); }
  /// Settings, times, counts, and the work of GPUs if there were any. `reranker`: null if no GPU reranked. `seconds` is
  /// the time of all queries together.
  Json json(const RunSettings& settings, const QueryEngine& engine, const gpu::GpuReranker* reranker,
            double seconds) const;
  /// Times and counts for people, a line or two.
  std::vector<std::string> lines(const QueryEngine& engine, unsigned threads, double seconds) const;

 private:
  double rate(double seconds) const;

  QueryStatistics counts_;
  LatencyLog times_us_;
  GpuStatistics gpu_;
  std::vector<GpuStatistics> shards_;  ///< of each
  std::optional<HybridFigures> hybrid_;
};

}  // namespace quern::tools
