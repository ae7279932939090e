#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "quern/core/types.hpp"
#include "quern/io/spool.hpp"

namespace quern {

/// How far lists were read.
struct ListDepth {
  std::uint64_t lists = 0, postings = 0;
  std::uint64_t read = 0;  ///< postings up to the end of the block in which reading stopped
  double shares = 0;       ///< the share of each list that was read, summed up

  void add(std::uint64_t list_postings, std::uint64_t list_read) {
    ++lists;
    postings += list_postings;
    read += list_read;
    shares += static_cast<double>(list_read) / static_cast<double>(list_postings);
  }
  /// The mean share of a list that was read; 0 without lists.
  double mean_share() const { return lists == 0 ? 0 : shares / static_cast<double>(lists); }
  ListDepth& operator+=(const ListDepth& other);
};

/// The cost of answering, counted on the way; each query has its own, so that threads share nothing.
struct QueryStatistics {
  std::uint64_t postings = 0;         ///< in the queries' lists
  std::uint64_t postings_scored = 0;  ///< whose term score was computed, as often as it was
  std::uint64_t blocks = 0;           ///< in the queries' lists
  /// A block counts as often as it is decoded: twice if a list is read twice.
  std::uint64_t blocks_decoded = 0;
  std::uint64_t stopped_early = 0;  ///< queries that ended because no later document could be a result
  /// Of the last query: no document from this docID on was scored.
  docid_t stopped_at = end_docid;
  /// How far queries that may terminate early read their lists, by the list's place in the order of summation; the last
  /// element also counts all lists after it.
  std::array<ListDepth, 8> depths;

  QueryStatistics& operator+=(const QueryStatistics& other);
};

/// Summary of the times of single queries, in microseconds.
struct LatencySummary {
  double mean_us = 0, p50_us = 0, p90_us = 0, p95_us = 0, p99_us = 0, p999_us = 0, max_us = 0;
};

/// Percentiles are nearest ranks: the lowest time that at least this share of the times does not exceed. All 0 without
/// times.
LatencySummary summarize(std::vector<double> times_us);

/// Times of any number of queries, in a work file if they are many.
class LatencyLog {
 public:
  explicit LatencyLog(const std::string& tmp_folder) : times_(tmp_folder) {}

  void add(double time_us);
  std::uint64_t count() const { return times_.count(); }
  /// The same as summarize() of all times. Reads them several times if they are many.
  LatencySummary summary() const;

 private:
  /// The time of this rank, counted from 0 in ascending order.
  double at_rank(std::uint64_t rank) const;

  RecordSpool<double> times_;
  double sum_us_ = 0;
};

}  // namespace quern
