#pragma once
#include "quern/api/searcher.hpp"

namespace quern::api {

/// Appends the results of one query as lines of a TREC run, as `quern query` writes them: `docids` with their `scores`,
/// best first. Throws Error: invalid_argument for a docID that the index doesn't have.
QUERN_API void append_trec_run(std::string& out, const Index& index, std::string_view qid,
                               std::span<const std::uint32_t> docids, std::span<const float> scores,
                               std::string_view tag = "quern");

/// A TREC run: a file, plain or compressed, "-" for standard input; or with an empty path the text of one.
struct TrecRun {
  std::string path;
  std::string_view text = {};
};

/// How runs are measured: `quern eval`.
struct EvaluationOptions {
  std::vector<std::string> measures;   ///< names such as "map", "P.10" or "ndcg_cut.10"; none: the usual ones
  std::int32_t relevance_level = 1;    ///< the lowest relevance that counts as relevant, at least 1
  std::optional<std::uint64_t> depth;  ///< results of each query that count, at least 1; none: all
  bool complete = false;               ///< queries with judgements but no results count as 0; false: skip them
  bool compare = false;                ///< compare the first run with each of the others, by two-sided tests
  std::uint64_t samples = 100'000;     ///< random signs of the randomization test, if there are too many to try all
  std::uint64_t seed = 1;              ///< of these signs
  /// The version of trec_eval whose values are computed, 9 or 10: 9 rounds scores to float32.
  unsigned trec_eval = 10;
  bool curve = false;  ///< also compute RunValues::curve
  /// The judgements are a run with exact results instead: the measures are exact_recall, and queries of it without
  /// results count as 0.
  bool exact = false;
};

struct Measure {
  std::string name;         ///< as trec_eval has it: "map", "P_10"
  bool is_by_query = true;  ///< a single query has a value
  bool is_count = false;    ///< values are counts, which are summed
};

/// Measures of a run.
struct RunValues {
  std::string name, tag;          ///< of the file; of its last line
  std::vector<double> values;     ///< of each measure, over all queries that count
  std::vector<bool> has_results;  ///< by query
  std::vector<double> by_query;   ///< query by query, of each measure; for a query without results its value then
  std::uint64_t evaluated = 0;    ///< queries with judgements and results
  std::uint64_t unjudged = 0;     ///< queries with results but without judgements, which are skipped
  /// With EvaluationOptions::curve: the mean interpolated precision at recall 0, 0.1, …, 1 (iprec_at_recall), over the
  /// queries that count, or with `compare` those that are compared.
  std::vector<double> curve;
};

/// A run compared with the first one by a measure.
struct RunDifference {
  double mean = 0, difference = 0;               ///< its mean; the same minus the first run's
  std::uint64_t wins = 0, ties = 0, losses = 0;  ///< queries that are better than in the first run, equal, worse
  // Student's paired t-test; none with fewer than two queries. p after Holm's correction for several runs, too.
  std::optional<double> t, t_p, holm_t_p;
  std::uint64_t degrees_of_freedom = 0;
  // Fisher's randomization test.
  double randomization_p = 1, holm_randomization_p = 1;
  bool is_exact = true;     ///< all signs were tried
  std::uint64_t tried = 1;  ///< signs
};

struct MeasureComparison {
  std::string measure;
  double first_mean = 0;
  std::vector<RunDifference> others;  ///< the other runs, in order
};

struct Evaluation {
  std::vector<Measure> measures;
  std::vector<std::string> qids;  ///< of all queries with judgements
  std::vector<RunValues> runs;
  std::uint64_t compared_queries = 0;          ///< all runs have results for them, or EvaluationOptions::complete
  std::vector<MeasureComparison> comparisons;  ///< with EvaluationOptions::compare
};

/// Measures runs by judgements, as trec_eval does, or by an exact run. Throws Error: corrupt_file for a file that isn't
/// a run or has no judgements, io, wrong_usage for unknown measures and those that runs can't be compared by.
QUERN_API Evaluation evaluate(const std::vector<TrecRun>& runs, const std::string& qrels_path,
                              const EvaluationOptions& options = {}, const Work& work = {});

}  // namespace quern::api
