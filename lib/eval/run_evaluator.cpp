#include "quern/eval/run_evaluator.hpp"

#include <fmt/format.h>

#include <cmath>

#include "quern/formats/queries/run_file.hpp"

namespace quern {

void check_evaluation_options(const EvaluationOptions& options) {
  if (options.measures.empty()) throw InvalidArgument("an evaluation needs measures");
  check_range<std::uint64_t>("relevance level", static_cast<std::uint64_t>(std::max(options.relevance_level, 0)), 1,
                             std::numeric_limits<std::int32_t>::max());
  check_range<std::uint64_t>("depth", options.depth, 1, std::numeric_limits<std::uint64_t>::max());
}

std::uint64_t Evaluation::num_evaluated(std::size_t run) const {
  const std::vector<bool>& has = runs[run].has_results;
  return static_cast<std::uint64_t>(std::count(has.begin(), has.end(), true));
}

double Evaluation::summary(std::size_t run, std::size_t measure, bool complete) const {
  MeasureTotal total;
  for (std::size_t query = 0; query < qids.size(); ++query)
    if (complete || runs[run].has_results[query]) total.add(value(run, query, measure));
  return total.summary(measures[measure].measure->summary);
}

RunEvaluator::RunEvaluator(ByteSource& qrels, EvaluationOptions options, const Resources& resources)
    : options_(std::move(options)), resources_(resources), qrels_name_(qrels.name()), rows_(resources) {
  check_evaluation_options(options_);
  on_threads(resources_.threads, [&] { rows_.read_judgements(qrels); });
}

void RunEvaluator::add_run(ByteSource& run) {
  RunValues& values = runs_.emplace_back();
  values.name = run.name();
  const auto take = [&](const RunLineText& line, std::uint64_t number) {
    if (std::isnan(line.double_score))
      throw CorruptFile("{}, line {}: the score is not a number, so the result has no rank", values.name, number);
    const bool in_float = options_.version == TrecEval::v9 && line.has_score;
    rows_.add(line.qid, line.docno, in_float ? static_cast<float>(line.double_score) : line.double_score, number);
    if (values.first_qid.empty()) values.first_qid = line.qid;
    values.tag = line.tag;
    values.has_scores = line.has_score;
  };
  run_stage(resources_, [&] {
    rows_.read_file(values.name, "remove one of them", [&] { read_run(run, take, RunScores::or_ranks); });
  });
}

/// Takes the rows sorted by query and document. A document's judgement comes before the results of the runs.
class RunEvaluator::Join {
 public:
  explicit Join(RunEvaluator& evaluator)
      : evaluator_(evaluator),
        results_(evaluator.runs_.size()),
        max_results_(
            std::min<std::uint64_t>(evaluator.resources_.memory_bytes / results_share / QueryResults::bytes_per_result,
                                    std::numeric_limits<std::uint32_t>::max())),
        max_values_bytes_(evaluator.resources_.memory_bytes / values_share) {
    evaluation_.measures = evaluator.options_.measures;
  }

  void take(const RunRows::Row& row) {
    if (row.begins_query) start_query(row.qid);
    if (row.begins_document) relevance_ = not_judged;
    add(row.file, row.value);
  }

  Evaluation finish() {
    end_query();
    for (const RunValues& run : evaluator_.runs_) check_common(run);
    evaluation_.runs = std::move(evaluator_.runs_);
    return std::move(evaluation_);
  }

 private:
  /// Shares of the memory for one query's results and for the values. Growing vectors take up to three times as much.
  static constexpr std::uint64_t results_share = 8, values_share = 16;

  void add(std::uint32_t file, double value) {
    if (file == 0) relevance_ = relevance_of_judgement(value);
    if (++num_results_ > max_results_) return;  // keeps counting for the message
    if (file == 0) {
      judged_.push_back(relevance_);
    } else {
      results_[file - 1].add(value, relevance_);
      evaluator_.runs_[file - 1].judged_results += relevance_ != not_judged;
    }
  }

  void start_query(std::string_view qid) {
    end_query();
    has_query_ = true;
    qid_.assign(qid);
  }

  void end_query() {
    if (!has_query_) return;
    check_fits();
    if (judged_.empty())
      for (std::size_t run = 0; run < results_.size(); ++run)
        evaluator_.runs_[run].unjudged_queries += !results_[run].empty();
    else
      evaluate_query();
    judged_.clear();
    for (QueryResults& results : results_) results.clear();
    num_results_ = 0;
  }

  void evaluate_query() {
    take_values_bytes();
    evaluation_.qids.push_back(qid_);
    std::sort(judged_.begin(), judged_.end(), std::greater<>());
    for (std::size_t run = 0; run < results_.size(); ++run) {
      RunValues& values = evaluator_.runs_[run];
      values.has_results.push_back(!results_[run].empty());
      const auto ranking = judged_ranking(results_[run].ranked(evaluator_.options_.depth), judged_,
                                          evaluator_.options_.relevance_level, evaluator_.options_.version);
      if (!values.has_scores && results_[run].has_ties())
        throw CorruptFile("{}: query {} has two results with the same rank; number them from 1", values.name, qid_);
      for (const MeasureChoice& measure : evaluation_.measures) values.values.push_back(measure.value(ranking));
    }
  }

  void take_values_bytes() {
    values_bytes_ += sizeof(std::string) + qid_.size() + results_.size() * evaluation_.measures.size() * sizeof(double);
    if (values_bytes_ > max_values_bytes_)
      throw InvalidArgument("the values of the first {} queries of {} fill the memory; raise {}, or choose fewer {}",
                            evaluation_.qids.size(), evaluator_.qrels_name_, option_name<"memory">,
                            option_name<"measures">);
  }

  void check_fits() const {
    if (num_results_ <= max_results_) return;
    throw InvalidArgument("query {} has {} results and judgements, which need {} {} or more", qid_, num_results_,
                          option_name<"memory">,
                          size_text(num_results_ * QueryResults::bytes_per_result * results_share));
  }

  void check_common(const RunValues& run) const {
    if (run.first_qid.empty()) throw InvalidArgument(run.name + " has no results; name a run that does");
    if (std::find(run.has_results.begin(), run.has_results.end(), true) != run.has_results.end()) return;
    if (evaluation_.qids.empty())
      throw InvalidArgument(evaluator_.qrels_name_ + " has no judgements; name the judgements of the run's queries");
    throw InvalidArgument(
        "{} and {} have no query in common: the run begins with query {}, the judgements with query {}; "
        "name the judgements of the run's queries",
        run.name, evaluator_.qrels_name_, run.first_qid, evaluation_.qids.front());
  }

  RunEvaluator& evaluator_;
  Evaluation evaluation_;
  // The current query.
  bool has_query_ = false;
  std::string qid_;
  std::vector<std::int32_t> judged_;
  std::vector<QueryResults> results_;  ///< by run
  std::uint64_t num_results_ = 0, max_results_;
  std::int32_t relevance_ = not_judged;  ///< of the current document

  std::uint64_t values_bytes_ = 0, max_values_bytes_;
};

Evaluation RunEvaluator::finish() {
  return run_stage(resources_, [&] {
    Join join(*this);
    rows_.merge([&](const RunRows::Row& row) { join.take(row); });
    return join.finish();
  });
}

}  // namespace quern
