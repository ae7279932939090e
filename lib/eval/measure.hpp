#pragma once
#include <limits>

#include "quern/core/types.hpp"

/// Effectiveness measures of one query's ranking, as trec_eval 9 defines them; see formats/queries/measures.md.
namespace quern {

/// A query's results and their judgements.
struct JudgedRanking {
  std::span<const std::int32_t> results;  ///< relevance by rank; below 0: not judged
  std::span<const std::int32_t> judged;   ///< relevances of all judgements of the query, highest first
  std::int32_t level = 1;                 ///< lowest relevance that counts as relevant
  std::uint64_t relevant = 0;             ///< judgements of at least `level`
  std::uint64_t not_relevant = 0;         ///< judgements of 0 to below `level`
  std::uint64_t found = 0;                ///< relevant results
};

/// Makes a ranking and fills in its counts. `judged` must be sorted; `level` is at least 1. Both spans must outlive the
/// ranking.
JudgedRanking judged_ranking(std::span<const std::int32_t> results, std::span<const std::int32_t> judged,
                             std::int32_t level);

/// How the queries' values are summarized.
enum class MeasureSummary {
  mean,
  geometric_mean,  ///< the queries' values are logarithms
  sum,             ///< of counts
};

struct Measure {
  std::string_view name, description;
  MeasureSummary summary = MeasureSummary::mean;
  bool is_by_query = true;  ///< whether a single query's value is meaningful
  /// Default cuts; empty: the measure uses all results.
  std::span<const std::uint64_t> cuts;
  /// The value for the first `cut` results.
  double (*value)(const JudgedRanking& ranking, std::uint64_t cut) = nullptr;
};

/// All measures, in trec_eval's order. Add new ones here.
std::span<const Measure> all_measures();

/// A measure and its cut.
struct MeasureChoice {
  const Measure* measure = nullptr;
  std::uint64_t cut = std::numeric_limits<std::uint64_t>::max();

  /// The name that trec_eval prints: "map", "P_10".
  std::string name() const;
  double value(const JudgedRanking& ranking) const { return measure->value(ranking, cut); }
  bool operator==(const MeasureChoice&) const = default;
};

/// The measures that a text names: "map", "P.10" or "P_10"; "P" is P at all its cuts. Throws InvalidArgument, listing
/// all names, if there is no such measure, or if the cut is not a number from 1 to 10^9.
std::vector<MeasureChoice> measures_named(std::string_view text);
/// The measures that several texts name, in order. Throws InvalidArgument like the function above, and for a measure
/// named twice.
std::vector<MeasureChoice> measures_named(std::span<const std::string> texts);

/// The default measures.
std::vector<MeasureChoice> default_measures();

}  // namespace quern
