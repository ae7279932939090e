#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/core/resources.hpp"
#include "quern/search/query_engine.hpp"

/// Measures the savings of early termination: how much of their lists `and` queries read (Wang et al. 3.3.2, figure 3).
namespace quern {

/// Visits of a list by the queries with its term, at evenly spaced places from its first posting to its last.
struct VisitCurve {
  std::string term;
  std::uint64_t df = 0;
  std::uint64_t queries = 0;          ///< queries with the term, repetitions included
  std::vector<std::uint64_t> visits;  ///< queries that visit the posting at place i / (size - 1) of the list
};

struct TerminationFigures {
  std::size_t k = 0;
  std::uint64_t queries = 0;  ///< queries whose terms are all in the index
  QueryStatistics counts;
  VisitCurve curve;
};

/// Points of a curve, and the minimum length of its list.
inline constexpr std::size_t visit_curve_points = 101;

/// Runs all queries with `and`, in parallel, and counts their visits. The curve belongs to the most frequent query term
/// among those with at least visit_curve_points postings. Throws InvalidArgument if no query has all its terms in the
/// index.
TerminationFigures measure_termination(const QueryEngine& engine, std::span<const std::string_view> texts,
                                       std::size_t k, const Resources& resources);

}  // namespace quern
