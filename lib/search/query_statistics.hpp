#pragma once
#include "quern/io/spool.hpp"
#include "quern/search/top_k.hpp"

namespace quern {

/// How deep lists were read.
struct ListDepth {
  std::uint64_t lists = 0, postings = 0;
  std::uint64_t read = 0;  ///< postings up to the end of the block in which reading stopped
  double shares = 0;       ///< sum of the fractions of each list that were read

  void add(std::uint64_t list_postings, std::uint64_t list_read) {
    ++lists;
    postings += list_postings;
    read += list_read;
    shares += static_cast<double>(list_read) / static_cast<double>(list_postings);
  }
  /// The mean fraction of a list that was read; 0 without lists.
  double mean_share() const { return lists == 0 ? 0 : shares / static_cast<double>(lists); }
  ListDepth& operator+=(const ListDepth& other);
};

/// The cost of queries. Each query counts in its own object, so that threads share nothing.
struct QueryStatistics {
  std::uint64_t postings = 0;         ///< in the queries' lists
  std::uint64_t postings_scored = 0;  ///< term scores computed, repeats included
  std::uint64_t blocks = 0;           ///< in the queries' lists
  /// A block counts as often as it is decoded: twice if a list is read twice.
  std::uint64_t blocks_decoded = 0;
  std::uint64_t stopped_early = 0;  ///< queries that ended because no later document could be a result
  /// The last query scored no document from this docID on.
  docid_t stopped_at = end_docid;
  /// How deep queries that may terminate early read their lists, by place in the order of summation; the last element
  /// covers all further lists.
  std::array<ListDepth, 8> depths;
  /// With a budget: upper bound of the scores of documents that were left out and may be results; none: the results are
  /// proven to be exact. Of several queries or shards, the highest.
  std::optional<float> bound_left;

  /// Forgets what a query left out if its k-th result rules that out.
  void prove(std::span<const ScoredDocument> results, std::size_t k) {
    if (bound_left && results.size() == k && *bound_left < results.back().score) bound_left.reset();
  }

  QueryStatistics& operator+=(const QueryStatistics& other);
};

/// The statistics of one query without repeats: at most all of its postings are scored, and all of its blocks decoded.
QueryStatistics without_repeats(QueryStatistics query);

/// Summary of the times of single queries, in microseconds.
struct LatencySummary {
  double mean_us = 0, p50_us = 0, p90_us = 0, p95_us = 0, p99_us = 0, p999_us = 0, max_us = 0;
};

/// Percentiles by nearest rank. All 0 without times.
LatencySummary summarize(std::vector<double> times_us);

/// Times of any number of queries; many are kept in a work file.
class LatencyLog {
 public:
  explicit LatencyLog(const std::string& tmp_folder) : times_(tmp_folder) {}

  void add(double time_us);
  std::uint64_t count() const { return times_.count(); }
  /// Equals summarize() of all times. Takes several passes over many times.
  LatencySummary summary() const;

 private:
  /// The time of this rank, counted from 0 in ascending order.
  double at_rank(std::uint64_t rank) const;

  RecordSpool<double> times_;
  double sum_us_ = 0;
};

}  // namespace quern
