#include "quern/eval/measure.hpp"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cmath>

#include "quern/formats/queries/run_file.hpp"

namespace quern {
namespace {

double quotient(double part, double all) { return all > 0 ? part / all : 0; }

std::span<const std::int32_t> first_results(const JudgedRanking& ranking, std::uint64_t cut) {
  return ranking.results.first(std::min<std::uint64_t>(cut, ranking.results.size()));
}

std::uint64_t relevant_among(std::span<const std::int32_t> relevances, std::int32_t level) {
  return static_cast<std::uint64_t>(std::count_if(relevances.begin(), relevances.end(),
                                                  [level](std::int32_t relevance) { return relevance >= level; }));
}

double found_until(const JudgedRanking& ranking, std::uint64_t cut) {
  return static_cast<double>(relevant_among(first_results(ranking, cut), ranking.level));
}

double one(const JudgedRanking&, std::uint64_t) { return 1; }
double num_ret(const JudgedRanking& ranking, std::uint64_t) { return static_cast<double>(ranking.results.size()); }
double num_rel(const JudgedRanking& ranking, std::uint64_t) { return static_cast<double>(ranking.relevant); }
double num_rel_ret(const JudgedRanking& ranking, std::uint64_t) { return static_cast<double>(ranking.found); }

double average_precision(const JudgedRanking& ranking, std::uint64_t cut) {
  double found = 0, rank = 0, sum = 0;
  for (const std::int32_t relevance : first_results(ranking, cut)) {
    ++rank;
    if (relevance >= ranking.level) sum += ++found / rank;
  }
  return quotient(sum, static_cast<double>(ranking.relevant));
}

double log_average_precision(const JudgedRanking& ranking, std::uint64_t cut) {
  constexpr double least = 0.00001;  // keeps a query without relevant results from deciding the mean
  return std::log(std::max(average_precision(ranking, cut), least));
}

double r_precision(const JudgedRanking& ranking, std::uint64_t) {
  return quotient(found_until(ranking, ranking.relevant), static_cast<double>(ranking.relevant));
}

/// Buckley and Voorhees 2004: Retrieval Evaluation with Incomplete Information, with the correction of trec_eval 8.
double binary_preference(const JudgedRanking& ranking, std::uint64_t) {
  double sum = 0;
  std::uint64_t before = 0;  // results judged irrelevant so far
  const double max_before = static_cast<double>(std::min(ranking.not_relevant, ranking.relevant));
  for (const std::int32_t relevance : ranking.results) {
    if (relevance < 0) continue;
    if (relevance < ranking.level)
      ++before;
    else
      sum += before > 0 ? 1 - static_cast<double>(std::min(before, ranking.relevant)) / max_before : 1;
  }
  return quotient(sum, static_cast<double>(ranking.relevant));
}

double reciprocal_rank(const JudgedRanking& ranking, std::uint64_t) {
  const auto first = std::find_if(ranking.results.begin(), ranking.results.end(),
                                  [&](std::int32_t relevance) { return relevance >= ranking.level; });
  return first == ranking.results.end() ? 0 : 1 / static_cast<double>(first - ranking.results.begin() + 1);
}

double precision(const JudgedRanking& ranking, std::uint64_t cut) {
  return found_until(ranking, cut) / static_cast<double>(cut);
}

double recall(const JudgedRanking& ranking, std::uint64_t cut) {
  return quotient(found_until(ranking, cut), static_cast<double>(ranking.relevant));
}

double success(const JudgedRanking& ranking, std::uint64_t cut) { return found_until(ranking, cut) > 0 ? 1 : 0; }

double discounted_gain(std::span<const std::int32_t> relevances) {
  double sum = 0;
  for (std::size_t i = 0; i < relevances.size(); ++i)
    if (relevances[i] > 0) sum += relevances[i] / std::log2(static_cast<double>(i + 2));
  return sum;
}

/// Järvelin and Kekäläinen 2002: Cumulated Gain-based Evaluation of IR Techniques, discounted from the second rank on.
double normalized_gain(const JudgedRanking& ranking, std::uint64_t cut) {
  const auto best = ranking.judged.first(std::min<std::uint64_t>(cut, ranking.judged.size()));
  return quotient(discounted_gain(first_results(ranking, cut)), discounted_gain(best));
}

double set_precision(const JudgedRanking& ranking, std::uint64_t) {
  return quotient(static_cast<double>(ranking.found), static_cast<double>(ranking.results.size()));
}

double set_recall(const JudgedRanking& ranking, std::uint64_t) {
  return quotient(static_cast<double>(ranking.found), static_cast<double>(ranking.relevant));
}

double set_f(const JudgedRanking& ranking, std::uint64_t) {
  const double p = set_precision(ranking, 0), r = set_recall(ranking, 0);
  return quotient(2 * p * r, p + r);
}

constexpr std::uint64_t usual_cuts[] = {5, 10, 15, 20, 30, 100, 200, 500, 1000};
constexpr std::uint64_t success_cuts[] = {1, 5, 10};
constexpr std::uint64_t max_cut = 1'000'000'000;

constexpr auto as_sum = MeasureSummary::sum;
constexpr auto as_mean = MeasureSummary::mean;
constexpr auto as_geometric_mean = MeasureSummary::geometric_mean;

constexpr Measure measure_table[] = {
    {"num_q", "number of queries", as_sum, false, {}, one},
    {"num_ret", "number of results", as_sum, true, {}, num_ret},
    {"num_rel", "number of relevant documents", as_sum, true, {}, num_rel},
    {"num_rel_ret", "number of relevant results", as_sum, true, {}, num_rel_ret},
    {"map", "average precision", as_mean, true, {}, average_precision},
    {"gm_map", "geometric mean of average precision", as_geometric_mean, false, {}, log_average_precision},
    {"Rprec", "precision of the first num_rel results", as_mean, true, {}, r_precision},
    {"bpref", "share of relevant results above those judged irrelevant", as_mean, true, {}, binary_preference},
    {"recip_rank", "1 / rank of the first relevant result", as_mean, true, {}, reciprocal_rank},
    {"P", "P.K: precision of the first K results", as_mean, true, usual_cuts, precision},
    {"recall", "recall.K: recall of the first K results", as_mean, true, usual_cuts, recall},
    {"ndcg", "normalized discounted cumulative gain", as_mean, true, {}, normalized_gain},
    {"ndcg_cut", "ndcg_cut.K: ndcg of the first K results", as_mean, true, usual_cuts, normalized_gain},
    {"map_cut", "map_cut.K: average precision of the first K results", as_mean, true, usual_cuts, average_precision},
    {"success", "success.K: 1 if one of the first K results is relevant", as_mean, true, success_cuts, success},
    {"set_P", "precision of all results", as_mean, true, {}, set_precision},
    {"set_recall", "recall of all results", as_mean, true, {}, set_recall},
    {"set_F", "harmonic mean of set_P and set_recall", as_mean, true, {}, set_f},
};

constexpr std::string_view default_texts[] = {
    "num_q", "num_ret", "num_rel", "num_rel_ret", "map",         "Rprec", "bpref",       "recip_rank",
    "P.5",   "P.10",    "P.20",    "recall.100",  "recall.1000", "ndcg",  "ndcg_cut.10", "ndcg_cut.20"};

/// The measure named by `text` with a cut, whose digits it stores in `digits`; null if there is none.
const Measure* measure_with_cut(std::string_view text, std::string_view& digits) {
  const std::size_t end = text.find_last_of("._");
  if (end == text.npos) return nullptr;
  digits = text.substr(end + 1);
  const auto found = std::find_if(std::begin(measure_table), std::end(measure_table), [&](const Measure& measure) {
    return measure.name == text.substr(0, end) && !measure.cuts.empty();
  });
  return found == std::end(measure_table) ? nullptr : found;
}

std::uint64_t read_cut(std::string_view digits, std::string_view text) {
  std::uint64_t cut = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, cut);
  if (error != std::errc() || stop != end || cut < 1 || cut > max_cut || digits.front() == '0')
    throw InvalidArgument("measure '{}': the cut must be a number from 1 to {}", text, max_cut);
  return cut;
}

}  // namespace

JudgedRanking judged_ranking(std::span<const std::int32_t> results, std::span<const std::int32_t> judged,
                             std::int32_t level) {
  JudgedRanking ranking{results, judged, level};
  ranking.relevant = relevant_among(judged, level);
  ranking.not_relevant = relevant_among(judged, 0) - ranking.relevant;
  ranking.found = relevant_among(results, level);
  return ranking;
}

std::span<const Measure> all_measures() { return measure_table; }

std::string MeasureChoice::name() const {
  return measure->cuts.empty() ? std::string(measure->name) : fmt::format("{}_{}", measure->name, cut);
}

std::vector<MeasureChoice> measures_named(std::string_view text) {
  std::string_view digits;
  const Measure* const cut_measure = has_named(measure_table, text) ? nullptr : measure_with_cut(text, digits);
  if (cut_measure != nullptr) return {{cut_measure, read_cut(digits, text)}};
  const Measure& measure = find_named(measure_table, text, "measure");
  if (measure.cuts.empty()) return {{&measure}};
  std::vector<MeasureChoice> choices;
  for (const std::uint64_t cut : measure.cuts) choices.push_back({&measure, cut});
  return choices;
}

std::vector<MeasureChoice> measures_named(std::span<const std::string> texts) {
  std::vector<MeasureChoice> choices;
  for (const std::string& text : texts) {
    for (const MeasureChoice& choice : measures_named(std::string_view(text))) {
      if (std::find(choices.begin(), choices.end(), choice) != choices.end())
        throw InvalidArgument("measure " + choice.name() + " is named twice");
      choices.push_back(choice);
    }
  }
  return choices;
}

std::vector<MeasureChoice> default_measures() {
  std::vector<MeasureChoice> choices;
  for (const std::string_view text : default_texts) choices.push_back(measures_named(text).front());
  return choices;
}

namespace {

/// Separates query and document in a key; neither can contain it.
constexpr char key_separator = '\0';

/// A row without its key: file, value, line.
constexpr std::size_t row_bytes = 16;

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
      add(line.qid, line.docno, 0, std::bit_cast<std::uint32_t>(line.relevance), number);
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
    read_run(run, [&](const RunLineText& line, std::uint64_t number) {
      if (std::isnan(line.score))
        throw CorruptFile("{}, line {}: the score is not a number, so the result has no rank", values.name, number);
      add(line.qid, line.docno, file, std::bit_cast<std::uint32_t>(line.score), number);
      if (values.first_qid.empty()) values.first_qid = line.qid;
      values.tag = line.tag;
      progress.add();
    });
    progress.finish();
  });
}

void RunEvaluator::add(std::string_view qid, std::string_view docno, std::uint32_t file, std::uint32_t value,
                       std::uint64_t line) {
  if (qid.find(key_separator) != qid.npos || docno.find(key_separator) != docno.npos)
    throw CorruptFile("{}, line {}: the name of a query or document contains a zero byte",
                      file == 0 ? qrels_name_ : runs_[file - 1].name, line);
  key_.assign(qid);
  key_ += key_separator;
  key_ += docno;
  std::uint8_t row[row_bytes];
  store_le(row, file);
  store_le(row + 4, value);
  store_le(row + 8, line);
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
    const auto line = load_le<std::uint64_t>(row.data() + 8);
    const bool is_same_document = key == key_;
    if (is_same_document && file == file_) fail_twice(key.substr(end + 1), line);
    if (!is_same_document) {
      key_.assign(key);
      relevance_ = not_judged;
    }
    file_ = file;
    line_ = line;
    add(file, load_le<std::uint32_t>(row.data() + 4));
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

  void add(std::uint32_t file, std::uint32_t value) {
    if (file == 0) relevance_ = std::max(std::bit_cast<std::int32_t>(value), not_judged);
    if (++num_results_ > max_results_) return;  // keeps counting for the message
    if (file == 0)
      judged_.push_back(relevance_);
    else
      results_[file - 1].add(std::bit_cast<float>(value), relevance_);
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
      const auto ranking =
          judged_ranking(results_[run].ranked(evaluator_.options_.depth), judged_, evaluator_.options_.relevance_level);
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
    throw CorruptFile("{}, line {}: query {} has document {} already in line {}; remove one of them",
                      file_ == 0 ? evaluator_.qrels_name_ : evaluator_.runs_[file_ - 1].name, line, qid_, docno, line_);
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
