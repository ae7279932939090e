#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "quern/core/progress.hpp"
#include "quern/intersect/intersect.hpp"

/// Measures how fast queries' lists are intersected: all methods in one run.
namespace quern {

/// What a method came to; the times are sums over the queries, each query's the median over the repeats.
struct IntersectionFigures {
  const Intersection* intersection = nullptr;
  std::size_t queries = 0;
  std::uint64_t results = 0;
  QueryStatistics counts;  ///< of one pass
  LatencySummary times;    ///< from text to documents, decoding included
  double decode_us = 0;    ///< for decoding whole lists
  double thin_out_us = 0;

  double postings_per_us(double us) const { return us > 0 ? static_cast<double>(counts.postings) / us : 0; }
  /// Postings in the queries' lists by the time from text to documents: the effective rate.
  double postings_per_second() const { return 1e6 * postings_per_us(times.mean_us * static_cast<double>(queries)); }
  /// The same by the time for thinning out alone, as papers count it whose lists are decoded in memory.
  double thinned_out_per_second() const { return 1e6 * postings_per_us(thin_out_us); }
};

/// Checks first that all find the same documents, then warms up once, then measures all `repeats` times in turn,
/// forwards and backwards, on one thread. Throws Error where they find different documents, with the query; and
/// InvalidArgument where there are no queries or no repeats.
std::vector<IntersectionFigures> measure_intersections(std::span<const std::string_view> texts,
                                                       std::span<const Intersection> intersections, unsigned repeats,
                                                       Progress& progress);

}  // namespace quern
