#include "quern/eval/run_evaluator.hpp"

#include <fmt/format.h>

#include <bit>

#include "quern/formats/queries/run_file.hpp"

namespace quern {
namespace {

/// Separates query and document in a key; neither can contain it.
constexpr char key_separator = '\0';

/// A row without its key: file, value, line.
constexpr std::size_t row_bytes = 20;

/// Shows the number of lines read.
class LineProgress {
 public:
  LineProgress(Progress& progress, const std::string& name) : progress_(progress) {
    progress_.start("read " + name, 0, "lines");
  }
  void add() {
    if (++lines_ % step == 0) progress_.add(step);
  }
  void finish() {
    progress_.add(lines_ % step);
    progress_.finish();
  }

 private:
  static constexpr std::uint64_t step = 1 << 14;

  Progress& progress_;
  std::uint64_t lines_ = 0;
};

/// Throws InvalidArgument for numbers out of range or missing measures.
void check_evaluation_options(const EvaluationOptions& options) {
  if (options.measures.empty()) throw InvalidArgument("an evaluation needs measures");
  check_range<std::uint64_t>("relevance level", static_cast<std::uint64_t>(std::max(options.relevance_level, 0)), 1,
                             std::numeric_limits<std::int32_t>::max());
  check_range<std::uint64_t>("depth", options.depth, 1, std::numeric_limits<std::uint64_t>::max());
}

}  // namespace

std::uint64_t Evaluation::num_evaluated(std::size_t run) const {
  const std::vector<bool>& has = runs[run].has_results;
  return static_cast<std::uint64_t>(std::count(has.begin(), has.end(), true));
}

double Evaluation::summary(std::size_t run, std::size_t measure, bool complete) const {
  double sum = 0;
  std::uint64_t queries = 0;
  for (std::size_t query = 0; query < qids.size(); ++query) {
    if (!complete && !runs[run].has_results[query]) continue;
    sum += value(run, query, measure);
    ++queries;
  }
  const MeasureSummary kind = measures[measure].measure->summary;
  if (kind == MeasureSummary::sum || queries == 0) return sum;
  const double mean = sum / static_cast<double>(queries);
  return kind == MeasureSummary::mean ? mean : std::exp(mean);
}

RunEvaluator::RunEvaluator(ByteSource& qrels, EvaluationOptions options, const Resources& resources)
    : options_(std::move(options)),
      resources_(resources),
      qrels_name_(qrels.name()),
      rows_(resources.tmp_folder, resources.memory_bytes / 4) {
  check_evaluation_options(options_);
  LineProgress progress(*resources_.progress, qrels_name_);
  on_threads(resources_.threads, [&] {
    read_qrels(qrels, [&](const JudgementLine& line, std::uint64_t number) {
      add(line.qid, line.docno, 0, line.relevance, number);
      progress.add();
    });
  });
  progress.finish();
}

void RunEvaluator::add_run(ByteSource& run) {
  run_stage(resources_, [&] {
    RunValues& values = runs_.emplace_back();
    values.name = run.name();
    const auto file = static_cast<std::uint32_t>(runs_.size());
    LineProgress progress(*resources_.progress, values.name);
    const auto take = [&](const RunLineText& line, std::uint64_t number) {
      if (std::isnan(line.double_score))
        throw CorruptFile("{}, line {}: the score is not a number, so the result has no rank", values.name, number);
      const bool in_float = options_.version == TrecEval::v9 && line.has_score;
      add(line.qid, line.docno, file, in_float ? static_cast<float>(line.double_score) : line.double_score, number);
      if (values.first_qid.empty()) values.first_qid = line.qid;
      values.tag = line.tag;
      values.has_scores = line.has_score;
      progress.add();
    };
    read_run(run, take, RunScores::or_ranks);
    progress.finish();
  });
}

void RunEvaluator::add(std::string_view qid, std::string_view docno, std::uint32_t file, double value,
                       std::uint64_t line) {
  if (qid.find(key_separator) != qid.npos || docno.find(key_separator) != docno.npos)
    throw CorruptFile("{}, line {}: the name of a query or document contains a zero byte",
                      file == 0 ? qrels_name_ : runs_[file - 1].name, line);
  key_.assign(qid);
  key_ += key_separator;
  key_ += docno;
  std::uint8_t row[row_bytes];
  store_le(row, file);
  store_le(row + 4, std::bit_cast<std::uint64_t>(value));
  store_le(row + 12, line);
  rows_.add(key_, row);
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

  void take(std::string_view key, ByteView row) {
    const std::size_t end = key.find(key_separator);
    const std::string_view qid = key.substr(0, end);
    if (!has_query_ || qid != qid_) start_query(qid);
    const auto file = load_le<std::uint32_t>(row.data());
    const auto line = load_le<std::uint64_t>(row.data() + 12);
    const bool is_same_document = key == key_;
    if (is_same_document && file == file_) fail_twice(key.substr(end + 1), line);
    if (!is_same_document) {
      key_.assign(key);
      relevance_ = not_judged;
    }
    file_ = file;
    line_ = line;
    add(file, std::bit_cast<double>(load_le<std::uint64_t>(row.data() + 4)));
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
    if (file == 0) relevance_ = value < 0 ? not_judged_in_pool : static_cast<std::int32_t>(value);
    if (++num_results_ > max_results_) return;  // keeps counting for the message
    if (file == 0)
      judged_.push_back(relevance_);
    else
      results_[file - 1].add(value, relevance_);
  }

  void start_query(std::string_view qid) {
    end_query();
    has_query_ = true;
    qid_.assign(qid);
    key_.clear();
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

  [[noreturn]] void fail_twice(std::string_view docno, std::uint64_t line) const {
    throw CorruptFile(
        "{}, line {}: query {} has document {} already in line {}; {}",
        file_ == 0 ? evaluator_.qrels_name_ : evaluator_.runs_[file_ - 1].name, line, qid_, docno, line_,
        file_ == 0 ? "keep one judgement of each document, also where column 2 is a subtopic" : "remove one of them");
  }

  RunEvaluator& evaluator_;
  Evaluation evaluation_;
  // The current query.
  bool has_query_ = false;
  std::string qid_;
  std::vector<std::int32_t> judged_;
  std::vector<QueryResults> results_;  ///< by run
  std::uint64_t num_results_ = 0, max_results_;
  // The previous row.
  std::string key_;
  std::uint32_t file_ = 0;
  std::uint64_t line_ = 0;
  std::int32_t relevance_ = not_judged;  ///< judgement of its document

  std::uint64_t values_bytes_ = 0, max_values_bytes_;
};

Evaluation RunEvaluator::finish() {
  return run_stage(resources_, [&] {
    Join join(*this);
    rows_.merge([&](std::string_view key, ByteView row) { join.take(key, row); });
    return join.finish();
  });
}

}  // namespace quern
