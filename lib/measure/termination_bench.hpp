#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/core/resources.hpp"
#include "quern/query/query_engine.hpp"

/// Measures what early termination saves: how much of their lists queries by `and` read (Wang et al. 3.3.2, figure 3).
namespace quern {

/// Visits of a list by the queries that have its term, at evenly spaced places from its first posting to its last.
struct VisitCurve {
  std::string term;
  std::uint64_t df = 0;
  std::uint64_t queries = 0;          ///< that have the term, repetitions included
  std::vector<std::uint64_t> visits;  ///< queries that visit the posting at place i / (size - 1) of the list
};

struct TerminationFigures {
  std::size_t k = 0;
  std::uint64_t queries = 0;  ///< whose terms are all in the index
  QueryStatistics counts;
  VisitCurve curve;
};

/// Points of a curve, and the shortest list that has one.
inline constexpr std::size_t visit_curve_points = 101;

/// Runs all queries through `and`, in parallel, and counts what they visit. The curve is that of the term that most
/// queries have, of those with visit_curve_points postings and more. Throws InvalidArgument where all terms of no query
/// are in the index.
TerminationFigures measure_termination(const QueryEngine& engine, std::span<const std::string_view> texts,
                                       std::size_t k, const Resources& resources);

}  // namespace quern
