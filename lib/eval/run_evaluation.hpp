#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "quern/core/resources.hpp"
#include "quern/eval/measure.hpp"
#include "quern/io/byte_source.hpp"
#include "quern/io/external_sort.hpp"

/// Runs measured by relevance judgements, as trec_eval 9 does it; see formats/queries/measures.md.
namespace quern {

struct EvaluationOptions {
  std::vector<MeasureChoice> measures = default_measures();
  std::int32_t relevance_level = 1;  ///< the lowest relevance that counts as relevant, at least 1
  std::uint64_t depth = std::numeric_limits<std::uint64_t>::max();  ///< results of a query that count, at least 1
};

/// Throws InvalidArgument for numbers out of range, and without measures.
void check_evaluation_options(const EvaluationOptions& options);

/// What judgements say of a run. Queries are those of the judgements.
struct RunValues {
  std::string name;                    ///< of the file
  std::string tag;                     ///< of its last line
  std::string first_qid;               ///< of its first line; empty if it has none
  std::vector<bool> has_results;       ///< by query
  std::vector<double> values;          ///< by query and measure; those of no results where there are none
  std::uint64_t unjudged_queries = 0;  ///< with results, but without any judgement: left out
};

/// What judgements say of one or several runs.
struct Evaluation {
  std::vector<MeasureChoice> measures;
  std::vector<std::string> qids;  ///< of all queries with judgements, sorted by their bytes
  std::vector<RunValues> runs;

  double value(std::size_t run, std::size_t query, std::size_t measure) const {
    return runs[run].values[query * measures.size() + measure];
  }
  /// A run's queries that have both judgements and results.
  std::uint64_t num_evaluated(std::size_t run) const;
  /// The value of a measure for all queries with results, or with `complete` for all that have judgements. 0 for a mean
  /// of no query.
  double summary(std::size_t run, std::size_t measure, bool complete) const;
};

/// Joins the lines of runs and judgements by sorting them, so that files of any size and in any order can be read: what
/// stays in memory are the results of one query, and the values of all.
class RunEvaluator {
 public:
  /// Reads the judgements. Throws InvalidArgument for impossible options, and what read_qrels() throws.
  RunEvaluator(ByteSource& qrels, EvaluationOptions options, const Resources& resources);

  /// Reads a run. Throws what read_run() throws, and CorruptFile, with the line, for a score that is not a number.
  void add_run(ByteSource& run);

  /// To be called once, after all runs. Throws CorruptFile, with both lines, if a query has a document twice in a run
  /// or in the judgements, and InvalidArgument if a run and the judgements have no query in common, or something does
  /// not fit in the memory.
  Evaluation finish();

 private:
  class Join;

  void add(std::string_view qid, std::string_view docno, std::uint32_t file, std::uint32_t value, std::uint64_t line);

  EvaluationOptions options_;
  Resources resources_;
  std::string qrels_name_;
  std::vector<RunValues> runs_;
  ExternalSort rows_;
  std::string key_;
};

/// The relevance of a result that has no judgement; negative judgements count as none.
inline constexpr std::int32_t not_judged = -1;

/// A query's results, to be put in the order in which trec_eval sees them: by decreasing score, ties by decreasing
/// docno, whatever their order or ranks in the file.
class QueryResults {
 public:
  /// Memory that a result takes at most.
  static constexpr std::uint64_t bytes_per_result = 16;

  /// Results come in increasing order of their docnos. The score is not NaN.
  void add(float score, std::int32_t relevance) {
    results_.push_back({score, relevance, static_cast<std::uint32_t>(results_.size())});
  }
  bool empty() const { return results_.empty(); }
  void clear() { results_.clear(); }

  /// The relevances of the first `depth` results, the best one first. Valid until the next call of a function.
  std::span<const std::int32_t> ranked(std::uint64_t depth) {
    std::sort(results_.begin(), results_.end(), [](const Result& a, const Result& b) {
      return a.score != b.score ? a.score > b.score : a.place > b.place;
    });
    relevances_.clear();
    for (const Result& result : std::span(results_).first(std::min<std::uint64_t>(depth, results_.size())))
      relevances_.push_back(result.relevance);
    return relevances_;
  }

 private:
  struct Result {
    float score;
    std::int32_t relevance;
    std::uint32_t place;  ///< in the order of docnos
  };

  std::vector<Result> results_;
  std::vector<std::int32_t> relevances_;
};

}  // namespace quern
