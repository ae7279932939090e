#pragma once
#include "quern/search/intersect.hpp"

/// Measures the intersection of queries' lists, with all methods in one run.
namespace quern {

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
