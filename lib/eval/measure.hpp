#pragma once
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Measures of one query's ranking by judgements, as trec_eval 9 defines them; see formats/queries/measures.md.
namespace quern {

/// The results of a query as judgements see them.
struct JudgedRanking {
  std::span<const std::int32_t> results;  ///< the relevance of each, in rank order; below 0: not judged
  std::span<const std::int32_t> judged;   ///< all relevances of the query's judgements, the highest first
  std::int32_t level = 1;                 ///< the lowest relevance that counts as relevant
  std::uint64_t relevant = 0;             ///< judgements of at least `level`
  std::uint64_t not_relevant = 0;         ///< judgements of 0 to below `level`
  std::uint64_t found = 0;                ///< relevant ones among the results
};

/// With its counts. `judged` has to be sorted; `level` is at least 1. Both spans must outlive the ranking.
JudgedRanking judged_ranking(std::span<const std::int32_t> results, std::span<const std::int32_t> judged,
                             std::int32_t level);

/// How the values of queries become one.
enum class MeasureSummary {
  mean,
  geometric_mean,  ///< of values whose logarithms the queries have
  sum,             ///< of counts
};

struct Measure {
  std::string_view name, description;
  MeasureSummary summary = MeasureSummary::mean;
  bool is_by_query = true;  ///< whether a single query's value says something
  /// Ranks at which it is cut where none is named; empty: it looks at all results.
  std::span<const std::uint64_t> cuts;
  /// Its value for the first `cut` results.
  double (*value)(const JudgedRanking& ranking, std::uint64_t cut) = nullptr;
};

/// All measures, in trec_eval's order. The one place to add one.
std::span<const Measure> all_measures();

/// A measure and where it is cut.
struct MeasureChoice {
  const Measure* measure = nullptr;
  std::uint64_t cut = std::numeric_limits<std::uint64_t>::max();

  /// As trec_eval prints it: "map", "P_10".
  std::string name() const;
  double value(const JudgedRanking& ranking) const { return measure->value(ranking, cut); }
  bool operator==(const MeasureChoice&) const = default;
};

/// The measures that a text names: "map", "P.10" or "P_10"; "P" is P at all its cuts. Throws InvalidArgument, with all
/// names, if there is none of that name, and if the cut is not a number from 1 to 10^9.
std::vector<MeasureChoice> measures_named(std::string_view text);
/// Those of all texts, in their order; each may be there once. Throws as above.
std::vector<MeasureChoice> measures_named(std::span<const std::string> texts);

/// What is computed where nobody asks for others.
std::vector<MeasureChoice> default_measures();

}  // namespace quern
