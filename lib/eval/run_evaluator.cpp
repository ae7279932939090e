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
  check_measures(options_.measures, options_.exact);
  on_threads(resources_.threads, [&] {
    if (options_.exact)
      read_rows(qrels, [](const RunLineText&) {});
    else
      rows_.read_judgements(qrels);
  });
}

void RunEvaluator::read_rows(ByteSource& run, const std::function<void(const RunLineText&)>& visit) {
  const auto take = [&](const RunLineText& line, std::uint64_t number) {
    if (std::isnan(line.double_score))
      throw CorruptFile("{}, line {}: the score is not a number, so the result has no rank", run.name(), number);
    const bool in_float = options_.version == TrecEval::v9 && line.has_score;
    rows_.add(line.qid, line.docno, in_float ? static_cast<float>(line.double_score) : line.double_score, number);
    visit(line);
  };
  rows_.read_file(run.name(), "remove one of them", [&] { read_run(run, take, RunScores::or_ranks); });
}

void RunEvaluator::add_run(ByteSource& run) {
  RunValues& values = runs_.emplace_back();
  values.name = run.name();
  run_stage(resources_, [&] {
    read_rows(run, [&](const RunLineText& line) {
      if (values.first_qid.empty()) values.first_qid = line.qid;
      values.tag = line.tag;
      values.has_scores = line.has_score;
    });
  });
}

/// Takes the rows sorted by query and document. A document's judgement, or exact result, comes before the results of
/// the runs.
class RunEvaluator::Join {
 public:
  explicit Join(RunEvaluator& evaluator)
      : evaluator_(evaluator),
        results_(evaluator.runs_.size()),
        max_results_(
            std::min<std::uint64_t>(evaluator.resources_.memory_bytes / results_share / QueryResults::bytes_per_result,
                                    std::numeric_limits<std::int32_t>::max())),
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
    if (++num_results_ > max_results_) return;  // keeps counting for the message
    if (file == 0) {
      relevance_ = is_exact() ? static_cast<std::int32_t>(exact_scores_.size()) : relevance_of_judgement(value);
      judged_.push_back(relevance_);
      if (is_exact()) exact_scores_.push_back(value);
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
    exact_scores_.clear();
    for (QueryResults& results : results_) results.clear();
    num_results_ = 0;
  }

  void evaluate_query() {
    take_values_bytes();
    evaluation_.qids.push_back(qid_);
    if (is_exact()) judged_ = exact_ranks_ = exact_ranks(exact_scores_);
    std::sort(judged_.begin(), judged_.end(), std::greater<>());
    bool has_open = false;
    for (std::size_t run = 0; run < results_.size(); ++run) {
      RunValues& values = evaluator_.runs_[run];
      values.has_results.push_back(!results_[run].empty());
      const auto ranking =
          judged_ranking(ranked(run), judged_, evaluator_.options_.relevance_level, evaluator_.options_.version);
      if (!values.has_scores && results_[run].has_ties())
        throw CorruptFile("{}: query {} has two results with the same rank; number them from 1", values.name, qid_);
      for (const MeasureChoice& measure : evaluation_.measures) values.values.push_back(measure.value(ranking));
      const auto is_open = [&](const MeasureChoice& measure) { return has_open_tie(ranking, measure.cut); };
      has_open =
          has_open || (is_exact() && std::any_of(evaluation_.measures.begin(), evaluation_.measures.end(), is_open));
    }
    evaluation_.open_ties += has_open;
  }

  /// The relevances of a run's results by rank; with an exact run, their ranks in that.
  std::span<const std::int32_t> ranked(std::size_t run) {
    const std::span<const std::int32_t> relevances = results_[run].ranked(evaluator_.options_.depth);
    if (!is_exact()) return relevances;
    ranks_.clear();
    for (const std::int32_t place : relevances)
      ranks_.push_back(place == not_judged ? not_judged : exact_ranks_[static_cast<std::size_t>(place)]);
    return ranks_;
  }

  /// Whether a result that the exact run doesn't have may tie with the last of its results that count.
  static bool has_open_tie(const JudgedRanking& ranking, double cut) {
    const auto first = ranking.results.first(static_cast<std::size_t>(std::min<double>(cut, ranking.results.size())));
    return cut <= static_cast<double>(ranking.judged.size()) && ranking.judged.front() <= cut &&
           std::find(first.begin(), first.end(), not_judged) != first.end();
  }

  std::string_view what() const { return is_exact() ? "exact results" : "judgements"; }
  bool is_exact() const { return evaluator_.options_.exact; }

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
      throw InvalidArgument("{} has no {}; name the {} of the run's queries", evaluator_.qrels_name_, what(), what());
    throw InvalidArgument(
        "{} and {} have no query in common: the run begins with query {}, the {} with query {}; "
        "name the {} of the run's queries",
        run.name, evaluator_.qrels_name_, run.first_qid, what(), evaluation_.qids.front(), what());
  }

  RunEvaluator& evaluator_;
  Evaluation evaluation_;
  // The current query.
  bool has_query_ = false;
  std::string qid_;
  std::vector<std::int32_t> judged_;
  std::vector<double> exact_scores_;  ///< of the exact run's documents; those of results are their places here
  std::vector<std::int32_t> exact_ranks_, ranks_;
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
