#pragma once

#include "quern/core/types.hpp"

/// Effectiveness measures of one query's ranking, as trec_eval 10 defines them, or 9; see formats/queries/measures.md.
namespace quern {

/// The versions of trec_eval whose values can be computed.
enum class TrecEval : std::uint8_t { v9 = 9, v10 = 10 };

/// The relevance of a result that is not judged: without a judgement, or with a negative one.
inline constexpr std::int32_t not_judged = -1, not_judged_in_pool = -2;

/// The relevance that a judgement stands for.
inline std::int32_t relevance_of_judgement(double judged) {
  return judged < 0 ? not_judged_in_pool : static_cast<std::int32_t>(judged);
}

/// A query's results and their judgements.
struct JudgedRanking {
  std::span<const std::int32_t> results;  ///< relevance by rank; below 0: not_judged or not_judged_in_pool
  std::span<const std::int32_t> judged;   ///< relevances of all judgements of the query, highest first
  std::int32_t level = 1;                 ///< lowest relevance that counts as relevant
  TrecEval version = TrecEval::v10;
  std::uint64_t relevant = 0;      ///< judgements of at least `level`
  std::uint64_t not_relevant = 0;  ///< judgements of 0 to below `level`
  std::uint64_t found = 0;         ///< relevant results
};

/// Makes a ranking and fills in its counts. `judged` must be sorted; `level` is at least 1. Both spans must outlive the
/// ranking.
JudgedRanking judged_ranking(std::span<const std::int32_t> results, std::span<const std::int32_t> judged,
                             std::int32_t level, TrecEval version = TrecEval::v10);

/// The rank of each result of an exact run by its score, from 1: that of the first one with the same score.
std::vector<std::int32_t> exact_ranks(std::span<const double> scores);

/// How the queries' values are summarized.
enum class MeasureSummary {
  mean,
  geometric_mean,  ///< the queries' values are logarithms
  sum,             ///< of counts
};

/// The number in a measure's name.
enum class CutKind {
  ranks,      ///< a number of results
  ratio,      ///< a multiple of the relevant documents, printed with two decimals
  parameter,  ///< a factor, which the name has only if it isn't the default
};

/// Queries' values, added up in the queries' order.
class MeasureTotal {
 public:
  void add(double value) {
    sum_ += value;
    ++queries_;
  }
  void add(const MeasureTotal& other) {
    sum_ += other.sum_;
    queries_ += other.queries_;
  }
  std::uint64_t queries() const { return queries_; }
  /// 0 for a mean of no query.
  double summary(MeasureSummary kind) const;

 private:
  double sum_ = 0;
  std::uint64_t queries_ = 0;
};

struct Measure {
  std::string_view name, description;
  MeasureSummary summary = MeasureSummary::mean;
  bool is_by_query = true;  ///< whether a single query's value is meaningful
  /// Default cuts; empty: the measure uses all results.
  std::span<const double> cuts;
  /// The value for a cut; `ranking` and an infinite cut if there are none.
  double (*value)(const JudgedRanking& ranking, double cut) = nullptr;
  CutKind kind = CutKind::ranks;
  bool of_exact_runs = false;  ///< relevances are exact_ranks() in place of judgements
};

/// All measures, in trec_eval's order. Add new ones here.
std::span<const Measure> all_measures();

/// A measure and its cut.
struct MeasureChoice {
  const Measure* measure = nullptr;
  double cut = std::numeric_limits<double>::infinity();

  /// The name that trec_eval prints: "map", "P_10".
  std::string name() const;
  double value(const JudgedRanking& ranking) const { return measure->value(ranking, cut); }
  bool operator==(const MeasureChoice&) const = default;
};

/// The measures that a text names: "map", "P.10", "P_10" or "P@10"; "P" is P at all its cuts. Names of other programs
/// are known, such as "MRR@10" and "nDCG@10", in upper or lower case; see formats/queries/measures.md. Throws
/// InvalidArgument for an unknown measure, listing all names, and for a cut that isn't a number from 1 to 10^9, or for
/// ratios and parameters a decimal from 0 to 10^9.
std::vector<MeasureChoice> measures_named(std::string_view text);
/// The measures that several texts name, in order. Throws InvalidArgument like the function above, and for a measure
/// named twice.
std::vector<MeasureChoice> measures_named(std::span<const std::string> texts);

/// Throws InvalidArgument, with the name, for a measure that needs an exact run in place of judgements, or if `exact`
/// for one that needs these.
void check_measures(std::span<const MeasureChoice> measures, bool exact);

/// The default measures.
std::vector<MeasureChoice> default_measures();
/// The default measures with an exact run in place of judgements.
std::vector<MeasureChoice> default_exact_measures();

}  // namespace quern
