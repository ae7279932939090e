#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "quern/core/types.hpp"

namespace quern {

/// How far lists were read.
struct ListDepth {
  std::uint64_t lists = 0, postings = 0;
  std::uint64_t read = 0;  ///< postings up to the end of the block in which reading stopped
  double shares = 0;       ///< of each list the share that was read, summed up

  void add(std::uint64_t list_postings, std::uint64_t list_read) {
    ++lists;
    postings += list_postings;
    read += list_read;
    shares += static_cast<double>(list_read) / static_cast<double>(list_postings);
  }
  /// Of a list, on average; 0 where there are none.
  double mean_share() const { return lists == 0 ? 0 : shares / static_cast<double>(lists); }
  ListDepth& operator+=(const ListDepth& other);
};

/// What answering took, counted as it happens; each query has its own, so that threads share nothing.
struct QueryStatistics {
  std::uint64_t postings = 0;         ///< in the queries' lists
  std::uint64_t postings_scored = 0;  ///< whose part was computed, as often as it was
  std::uint64_t blocks = 0;           ///< in the queries' lists
  /// A block counts as often as it is decoded: twice where a list is looked at twice.
  std::uint64_t blocks_decoded = 0;
  std::uint64_t stopped_early = 0;  ///< queries that ended since no later document could become a result
  /// Of the last query: no document from here on was looked at.
  docid_t stopped_at = end_docid;
  /// How far lists were read by queries that might stop early, by their place in the order of summation; lists behind
  /// the last place count there too.
  std::array<ListDepth, 8> depths;

  QueryStatistics& operator+=(const QueryStatistics& other);
};

/// Times of single queries, in microseconds, summed up.
struct LatencySummary {
  double mean_us = 0, p50_us = 0, p90_us = 0, p95_us = 0, p99_us = 0, p999_us = 0, max_us = 0;
};

/// The value below which a share of the times lies is the least time that so many do not pass (nearest rank).
/// All 0 without times.
LatencySummary summarize(std::vector<double> times_us);

}  // namespace quern
