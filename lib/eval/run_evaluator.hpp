#pragma once
#include "quern/eval/measure.hpp"
#include "quern/eval/run_rows.hpp"
#include "quern/formats/queries/run_file.hpp"
#include "quern/io/byte_source.hpp"

/// Runs, measured by relevance judgements like trec_eval; see formats/queries/measures.md.
namespace quern {

struct EvaluationOptions {
  std::vector<MeasureChoice> measures = default_measures();
  std::int32_t relevance_level = 1;  ///< lowest relevance that counts as relevant, at least 1
  std::uint64_t depth = std::numeric_limits<std::uint64_t>::max();  ///< maximum results per query, at least 1
  TrecEval version = TrecEval::v10;
  bool exact = false;  ///< a run with exact results takes the place of the judgements
};

/// Throws InvalidArgument for numbers out of range or missing measures.
void check_evaluation_options(const EvaluationOptions& options);

/// A run's values. Queries are those of the judgements.
struct RunValues {
  std::string name;                    ///< of the file
  std::string tag;                     ///< of its last line
  bool has_scores = true;              ///< not MS MARCO's form, which has only ranks
  std::string first_qid;               ///< of its first line; empty if there is none
  std::vector<bool> has_results;       ///< by query
  std::vector<double> values;          ///< by query and measure; the values for no results if there are none
  std::uint64_t unjudged_queries = 0;  ///< queries with results but no judgement, left out
  std::uint64_t judged_results = 0;    ///< results that have judgements
};

/// Values of one or more runs.
struct Evaluation {
  std::vector<MeasureChoice> measures;
  std::vector<std::string> qids;  ///< all queries with judgements, sorted bytewise
  std::vector<RunValues> runs;
  /// Queries whose exact results end within the documents that tie at a cut, with results that may be among these.
  std::uint64_t open_ties = 0;

  double value(std::size_t run, std::size_t query, std::size_t measure) const {
    return runs[run].values[query * measures.size() + measure];
  }
  /// The number of a run's queries with both judgements and results.
  std::uint64_t num_evaluated(std::size_t run) const;
  /// The summary of a measure over all queries with results or, if `complete`, with judgements. 0 for a mean of no
  /// query.
  double summary(std::size_t run, std::size_t measure, bool complete) const;
};

/// Joins the lines of runs and judgements, so that files may have any size and order: only the results of one query and
/// the values of all stay in memory.
class RunEvaluator {
 public:
  /// Reads the judgements, or the exact run. Throws InvalidArgument for invalid options, and like check_measures()
  /// and read_qrels() or add_run().
  RunEvaluator(ByteSource& qrels, EvaluationOptions options, const Resources& resources);

  /// Reads a run in the form of TREC or MS MARCO. Throws like read_run(), and CorruptFile, with the line, for a NaN
  /// score.
  void add_run(ByteSource& run);

  /// Call once, after all runs. Throws CorruptFile, with both lines, if a run or the judgements repeat a document of a
  /// query, and without if a run of MS MARCO repeats a rank; InvalidArgument if a run and the judgements have no query
  /// in common, or the memory does not suffice.
  Evaluation finish();

 private:
  class Join;

  /// Adds the lines of a run; visit(line) is called for each.
  void read_rows(ByteSource& run, const std::function<void(const RunLineText&)>& visit);

  EvaluationOptions options_;
  Resources resources_;
  std::string qrels_name_;
  std::vector<RunValues> runs_;
  RunRows rows_;
};

/// A query's results in trec_eval's order: by decreasing score, ties by decreasing docno, regardless of order and ranks
/// in the file.
class QueryResults {
 public:
  /// Maximum memory per result.
  static constexpr std::uint64_t bytes_per_result = 20;

  /// Adds a result; docnos must ascend. The score must not be NaN.
  void add(double score, std::int32_t relevance) {
    results_.push_back({score, relevance, static_cast<std::uint32_t>(results_.size())});
  }
  bool empty() const { return results_.empty(); }
  void clear() { results_.clear(); }

  /// The relevances of the first `depth` results, best first. Valid until the next call.
  std::span<const std::int32_t> ranked(std::uint64_t depth) {
    std::sort(results_.begin(), results_.end(), [](const Result& a, const Result& b) {
      return a.score != b.score ? a.score > b.score : a.place > b.place;
    });
    relevances_.clear();
    for (const Result& result : std::span(results_).first(std::min<std::uint64_t>(depth, results_.size())))
      relevances_.push_back(result.relevance);
    return relevances_;
  }
  /// Whether results have equal scores. Call after ranked().
  bool has_ties() const {
    return std::adjacent_find(results_.begin(), results_.end(),
                              [](const Result& a, const Result& b) { return a.score == b.score; }) != results_.end();
  }

 private:
  struct Result {
    double score;
    std::int32_t relevance;
    std::uint32_t place;  ///< in the order of docnos
  };

  std::vector<Result> results_;
  std::vector<std::int32_t> relevances_;
};

}  // namespace quern
