#pragma once
#include "quern/formats/index_shards.hpp"
#include "quern/formats/tables/query_times.hpp"
#include "quern/search/intersect.hpp"
#include "quern/search/search_backend.hpp"

/// Measures query times, with several algorithms, numbers of results, indexes and scorings in one run.
namespace quern {

/// One way of answering queries.
struct QuerySetUp {
  const IndexShards* index = nullptr;
  CpuBackend* backend = nullptr;  ///< over the index, with its scoring
  const QueryAlgorithm* algorithm = nullptr;
  std::size_t k = 10;
  /// Set-ups of one family have equal documents and scores, and must give equal results for the same k.
  std::size_t family = 0;
};

struct QueryBenchOptions {
  unsigned repeats = 5;
  unsigned warm_up = 1;              ///< passes over all queries before the first that is measured
  unsigned threads = 1;              ///< of batches, which also run on one thread for comparison; no batches if 1
  bool each_query = false;           ///< whether figures have the times of single queries
  QueryKind kind = QueryKind::text;  ///< of the queries
};

/// Queries of 6 to 9 terms share a row of figures, and so do longer ones: the smallest number of terms in each row.
inline constexpr std::size_t first_shared_length = 6, first_long_length = 10;
constexpr std::size_t length_row(std::size_t terms) {
  return terms >= first_long_length ? first_long_length : std::min(terms, first_shared_length);
}

/// Figures of queries with the same number of distinct terms in the index.
struct QueryLengthFigures {
  std::size_t terms = 0;  ///< of the shortest of them; see length_row()
  std::size_t queries = 0;
  LatencySummary times;
};

/// A query's median time over the repeats, and features to predict it from.
struct MeasuredQuery {
  double us = 0;
  QueryFeatures features;
};

struct BatchFigures {
  unsigned threads = 1;
  double seconds = 0;  ///< for all queries; median over the repeats
};

struct QueryFigures {
  QuerySetUp set_up;
  std::size_t queries = 0;
  LatencySummary times;                    ///< over the queries' medians over the repeats; one thread
  std::uint64_t postings = 0, blocks = 0;  ///< in the lists of the queries' distinct terms, read or not
  QueryStatistics counts;                  ///< of one pass over the queries
  std::vector<QueryLengthFigures> by_length;
  std::vector<BatchFigures> batches;
  std::vector<MeasuredQuery> each_query;  ///< in the order of the queries, if requested

  double queries_per_second() const { return 1e6 / times.mean_us; }
  /// Postings in the queries' lists per second of the queries' time: the effective rate.
  double postings_per_second() const {
    return static_cast<double>(postings) / static_cast<double>(queries) * queries_per_second();
  }
};

/// Describes where a query's results first differ from those expected; empty if documents and score bits are equal.
std::optional<std::string> difference(std::span<const ScoredDocument> expected, std::span<const ScoredDocument> found);

/// First compares the answers of all set-ups with those of the baseline (`or`, `and`, or both for algorithms that match
/// either) on the family's first index; then warms up, and measures all set-ups `repeats` times in turn, forwards and
/// backwards, so that a slowdown of the machine affects all alike. Throws Error, with query and set-up, if answers
/// differ; InvalidArgument without queries, set-ups or repeats, or if an index contains no term.
std::vector<QueryFigures> measure_queries(std::span<const std::string_view> texts, std::span<const QuerySetUp> set_ups,
                                          const QueryBenchOptions& options, Progress& progress);

/// The figures of one method; times are sums over the queries of each query's median over the repeats.
struct IntersectionFigures {
  const Intersection* intersection = nullptr;
  std::size_t queries = 0;
  std::uint64_t results = 0;
  QueryStatistics counts;  ///< of one pass
  LatencySummary times;    ///< from terms to documents, decoding included
  double decode_us = 0;    ///< for decoding whole lists
  double intersect_us = 0;

  double postings_per_us(double us) const { return us > 0 ? static_cast<double>(counts.postings) / us : 0; }
  /// Postings in the queries' lists per second of the time from terms to documents: the effective rate.
  double postings_per_second() const { return 1e6 * postings_per_us(times.mean_us * static_cast<double>(queries)); }
  /// The rate for intersecting alone, as in papers whose lists are already decoded in memory.
  double intersected_per_second() const { return 1e6 * postings_per_us(intersect_us); }
};

/// First checks that all methods find the same documents, which also warms up; then measures them `repeats` times in
/// turn, forwards and backwards, on one thread. Throws Error, with the query, if they find different documents, and
/// InvalidArgument without queries, methods or repeats.
std::vector<IntersectionFigures> measure_intersections(std::span<const QueryView> queries,
                                                       std::span<const Intersection> intersections, unsigned repeats,
                                                       Progress& progress);

}  // namespace quern
