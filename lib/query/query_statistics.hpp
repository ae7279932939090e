#pragma once
#include <cstdint>
#include <vector>

namespace quern {

/// What answering took, counted as it happens; each query has its own, so that threads share nothing.
struct QueryStatistics {
  std::uint64_t postings = 0;         ///< in the queries' lists
  std::uint64_t postings_scored = 0;  ///< whose part was computed
  std::uint64_t blocks = 0;           ///< in the queries' lists
  std::uint64_t blocks_decoded = 0;

  QueryStatistics& operator+=(const QueryStatistics& other) {
    postings += other.postings;
    postings_scored += other.postings_scored;
    blocks += other.blocks;
    blocks_decoded += other.blocks_decoded;
    return *this;
  }
};

/// Times of single queries, in microseconds, summed up.
struct LatencySummary {
  double mean_us = 0, p50_us = 0, p90_us = 0, p95_us = 0, p99_us = 0, p999_us = 0, max_us = 0;
};

/// The value below which a share of the times lies is the least time that so many do not pass (nearest rank).
/// All 0 without times.
LatencySummary summarize(std::vector<double> times_us);

}  // namespace quern
