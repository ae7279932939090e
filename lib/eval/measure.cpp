#include "quern/eval/measure.hpp"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cmath>

#include "quern/formats/queries/run_file.hpp"

namespace quern {
namespace {

double quotient(double part, double all) { return all > 0 ? part / all : 0; }

std::span<const std::int32_t> first_of(std::span<const std::int32_t> all, double cut) {
  return cut < static_cast<double>(all.size()) ? all.first(static_cast<std::size_t>(cut)) : all;
}

std::span<const std::int32_t> first_results(const JudgedRanking& ranking, double cut) {
  return first_of(ranking.results, cut);
}

std::uint64_t relevant_among(std::span<const std::int32_t> relevances, std::int32_t level) {
  return static_cast<std::uint64_t>(std::count_if(relevances.begin(), relevances.end(),
                                                  [level](std::int32_t relevance) { return relevance >= level; }));
}

double found_until(const JudgedRanking& ranking, double cut) {
  return static_cast<double>(relevant_among(first_results(ranking, cut), ranking.level));
}

double one(const JudgedRanking&, double) { return 1; }
double num_ret(const JudgedRanking& ranking, double) { return static_cast<double>(ranking.results.size()); }
double num_rel(const JudgedRanking& ranking, double) { return static_cast<double>(ranking.relevant); }
double num_rel_ret(const JudgedRanking& ranking, double) { return static_cast<double>(ranking.found); }

double average_precision(const JudgedRanking& ranking, double cut) {
  double found = 0, rank = 0, sum = 0;
  for (const std::int32_t relevance : first_results(ranking, cut)) {
    ++rank;
    if (relevance >= ranking.level) sum += ++found / rank;
  }
  return quotient(sum, static_cast<double>(ranking.relevant));
}

/// Keeps a query without relevant results from deciding the mean.
double bounded_log(double value) { return std::log(std::max(value, 0.00001)); }

double log_average_precision(const JudgedRanking& ranking, double cut) {
  return bounded_log(average_precision(ranking, cut));
}

double r_precision(const JudgedRanking& ranking, double) {
  const auto relevant = static_cast<double>(ranking.relevant);
  return quotient(found_until(ranking, relevant), relevant);
}

/// `ratio` of the relevant documents, rounded up as trec_eval does: so it is one for 1.0 of one.
double rounded_up(const JudgedRanking& ranking, double ratio) {
  return std::trunc(ratio * static_cast<double>(ranking.relevant) + 0.9);
}

double r_precision_at_multiple(const JudgedRanking& ranking, double ratio) {
  const double cut = rounded_up(ranking, ratio);
  return quotient(found_until(ranking, cut), cut);
}

/// The highest precision from the rank on where `ratio` of the relevant documents are found; 0 if they aren't.
double interpolated_precision(const JudgedRanking& ranking, double ratio) {
  const double wanted = ranking.version == TrecEval::v9 ? rounded_up(ranking, ratio)
                                                        : std::round(ratio * static_cast<double>(ranking.relevant));
  auto found = static_cast<double>(ranking.found);
  if (wanted > found) return 0;
  double highest = 0;
  for (std::size_t rank = ranking.results.size(); rank > 0 && found > 0; --rank) {
    highest = std::max(highest, found / static_cast<double>(rank));
    if (ranking.results[rank - 1] < ranking.level) continue;
    if (found == wanted) break;
    --found;
  }
  return highest;
}

constexpr double recall_points[] = {0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0};

double eleven_point_average(const JudgedRanking& ranking, double) {
  double sum = 0;
  for (std::size_t i = std::size(recall_points); i-- > 0;) sum += interpolated_precision(ranking, recall_points[i]);
  return sum / static_cast<double>(std::size(recall_points));
}

/// Yilmaz and Aslam 2006: Estimating Average Precision with Incomplete and Imperfect Judgments. The precision at a
/// relevant result is expected to be that of the judged results before it, of all those before it in the pool.
double inferred_average_precision(const JudgedRanking& ranking, double) {
  constexpr double smoothing = 0.00001;
  double relevant = 0, irrelevant = 0, unknown = 0, sum = 0;  // results before the rank
  for (std::size_t i = 0; i < ranking.results.size(); ++i) {
    const std::int32_t relevance = ranking.results[i];
    if (relevance == not_judged_in_pool) {
      ++unknown;
    } else if (relevance >= 0 && relevance < ranking.level) {
      ++irrelevant;
    } else if (relevance >= ranking.level) {
      const auto before = static_cast<double>(i);
      const double share = (relevant + smoothing) / (relevant + irrelevant + 2 * smoothing);
      sum +=
          i == 0 ? 1 : 1 / (before + 1) + before / (before + 1) * ((relevant + irrelevant + unknown) / before) * share;
      ++relevant;
    }
  }
  return ranking.relevant > 0 ? sum / static_cast<double>(ranking.relevant) : sum;
}

/// Buckley and Voorhees 2004: Retrieval Evaluation with Incomplete Information, with the correction of trec_eval 8.
double binary_preference(const JudgedRanking& ranking, double) {
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

double log_binary_preference(const JudgedRanking& ranking, double cut) {
  return bounded_log(binary_preference(ranking, cut));
}

double reciprocal_rank(const JudgedRanking& ranking, double) {
  const auto first = std::find_if(ranking.results.begin(), ranking.results.end(),
                                  [&](std::int32_t relevance) { return relevance >= ranking.level; });
  return first == ranking.results.end() ? 0 : 1 / static_cast<double>(first - ranking.results.begin() + 1);
}

double precision(const JudgedRanking& ranking, double cut) { return found_until(ranking, cut) / cut; }

double relative_precision(const JudgedRanking& ranking, double cut) {
  return quotient(found_until(ranking, cut), std::min(cut, static_cast<double>(ranking.relevant)));
}

double recall(const JudgedRanking& ranking, double cut) {
  return quotient(found_until(ranking, cut), static_cast<double>(ranking.relevant));
}

double success(const JudgedRanking& ranking, double cut) { return found_until(ranking, cut) > 0 ? 1 : 0; }

double discounted_gain(std::span<const std::int32_t> relevances) {
  double sum = 0;
  for (std::size_t i = 0; i < relevances.size(); ++i)
    if (relevances[i] > 0) sum += relevances[i] / std::log2(static_cast<double>(i + 2));
  return sum;
}

/// Järvelin and Kekäläinen 2002: Cumulated Gain-based Evaluation of IR Techniques, discounted from the second rank on.
double normalized_gain(const JudgedRanking& ranking, double cut) {
  return quotient(discounted_gain(first_results(ranking, cut)), discounted_gain(first_of(ranking.judged, cut)));
}

double own_gain(const JudgedRanking& ranking, double) { return discounted_gain(ranking.results); }
double ideal_gain(const JudgedRanking& ranking, double) { return discounted_gain(ranking.judged); }

/// Moffat and Zobel 2008: Rank-Biased Precision for Measurement of Retrieval Effectiveness. Gains above 1 are divided
/// by the highest.
double rank_biased_precision(const JudgedRanking& ranking, double persistence) {
  const double highest = ranking.judged.empty() ? 0 : std::max(ranking.judged.front(), 0);
  double sum = 0, weight = 1;
  for (const std::int32_t relevance : ranking.results) {
    if (relevance > 0) sum += (highest > 1 ? relevance / highest : relevance) * weight;
    weight *= persistence;
  }
  return (1 - persistence) * sum;
}

/// What rank_biased_precision() would gain if all results without judgement, and all that could follow, had gain 1. As
/// in trec_eval, 0 if all results are judged.
double rank_biased_residual(const JudgedRanking& ranking, double persistence) {
  double sum = 0, weight = 1;
  for (const std::int32_t relevance : ranking.results) {
    if (relevance < 0) sum += weight;
    weight *= persistence;
  }
  return sum > 0 ? weight + (1 - persistence) * sum : 0;
}

double unjudged(const JudgedRanking& ranking, double cut) {
  const auto first = first_results(ranking, cut);
  return static_cast<double>(first.size() - relevant_among(first, 0)) / cut;
}

double num_judged_irrelevant(const JudgedRanking& ranking, double) {
  return static_cast<double>(relevant_among(ranking.results, 0) - ranking.found);
}

/// Relevant results count 1, others -1.
double utility(const JudgedRanking& ranking, double) {
  return 2 * static_cast<double>(ranking.found) - static_cast<double>(ranking.results.size());
}

double set_precision(const JudgedRanking& ranking, double) {
  return quotient(static_cast<double>(ranking.found), static_cast<double>(ranking.results.size()));
}

double set_recall(const JudgedRanking& ranking, double) {
  return quotient(static_cast<double>(ranking.found), static_cast<double>(ranking.relevant));
}

double set_f(const JudgedRanking& ranking, double importance) {
  const double p = set_precision(ranking, 0), r = set_recall(ranking, 0);
  return quotient((importance + 1) * p * r, importance * p + r);
}

double set_average_precision(const JudgedRanking& ranking, double) {
  const auto found = static_cast<double>(ranking.found);
  return quotient(found * found, static_cast<double>(ranking.results.size()) * static_cast<double>(ranking.relevant));
}

double set_relative_precision(const JudgedRanking& ranking, double) {
  return relative_precision(ranking, static_cast<double>(ranking.results.size()));
}

constexpr double usual_cuts[] = {5, 10, 15, 20, 30, 100, 200, 500, 1000};
constexpr double success_cuts[] = {1, 5, 10};
constexpr double unjudged_cuts[] = {5, 10, 20};
constexpr double multiples[] = {0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0};
constexpr double usual_persistence[] = {0.9};
constexpr double usual_importance[] = {1};
constexpr double max_cut = 1'000'000'000;

constexpr auto ratio = CutKind::ratio;
constexpr auto parameter = CutKind::parameter;
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
    {"iprec_at_recall", "highest precision at recall X or above", as_mean, true, recall_points, interpolated_precision,
     ratio},
    {"P", "P.K: precision of the first K results", as_mean, true, usual_cuts, precision},
    {"recall", "recall.K: recall of the first K results", as_mean, true, usual_cuts, recall},
    {"infAP",
     "average precision, inferred where a sample of a pool is judged",
     as_mean,
     true,
     {},
     inferred_average_precision},
    {"gm_bpref", "geometric mean of bpref", as_geometric_mean, false, {}, log_binary_preference},
    {"Rprec_mult", "precision of the first X num_rel results", as_mean, true, multiples, r_precision_at_multiple,
     ratio},
    {"utility", "relevant results minus others", as_mean, true, {}, utility},
    {"11pt_avg", "mean of iprec_at_recall", as_mean, true, {}, eleven_point_average},
    {"dcg", "discounted cumulative gain", as_mean, true, {}, own_gain},
    {"ideal_dcg", "highest possible discounted cumulative gain", as_mean, true, {}, ideal_gain},
    {"ndcg", "normalized discounted cumulative gain", as_mean, true, {}, normalized_gain},
    {"ndcg_cut", "ndcg_cut.K: ndcg of the first K results", as_mean, true, usual_cuts, normalized_gain},
    {"map_cut", "map_cut.K: average precision of the first K results", as_mean, true, usual_cuts, average_precision},
    {"relative_P", "relative_P.K: precision by the highest possible", as_mean, true, usual_cuts, relative_precision},
    {"success", "success.K: 1 if one of the first K results is relevant", as_mean, true, success_cuts, success},
    {"set_P", "precision of all results", as_mean, true, {}, set_precision},
    {"set_relative_P", "set_P by the highest possible", as_mean, true, {}, set_relative_precision},
    {"set_recall", "recall of all results", as_mean, true, {}, set_recall},
    {"set_map", "product of set_P and set_recall", as_mean, true, {}, set_average_precision},
    {"set_F", "harmonic mean of set_P and set_recall, X times as important", as_mean, true, usual_importance, set_f,
     parameter},
    {"num_nonrel_judged_ret", "number of results judged not relevant", as_sum, true, {}, num_judged_irrelevant},
    {"rbp", "rank-biased precision with persistence X, 0.9", as_mean, true, usual_persistence, rank_biased_precision,
     parameter},
    {"rbp_resid", "what unjudged results could add to rbp", as_mean, true, usual_persistence, rank_biased_residual,
     parameter},
    {"unj", "unj.K: unjudged among the first K results", as_mean, true, unjudged_cuts, unjudged},
};

constexpr std::string_view default_texts[] = {
    "num_q", "num_ret", "num_rel", "num_rel_ret", "map",         "Rprec", "bpref",       "recip_rank",
    "P.5",   "P.10",    "P.20",    "recall.100",  "recall.1000", "ndcg",  "ndcg_cut.10", "ndcg_cut.20"};

/// The measure named by `text` with a cut, which it stores in `cut`; null if there is none.
const Measure* measure_with_cut(std::string_view text, std::string_view& cut) {
  if (has_named(measure_table, text)) return nullptr;
  const Measure* found = nullptr;
  for (const Measure& measure : measure_table) {
    const std::size_t size = measure.name.size();
    const bool fits = !measure.cuts.empty() && text.starts_with(measure.name) && text.size() > size &&
                      (text[size] == '.' || text[size] == '_');
    if (fits && (found == nullptr || size > found->name.size())) found = &measure;
  }
  if (found == nullptr) return nullptr;
  cut = text.substr(found->name.size() + 1);
  if (found->kind == CutKind::parameter && cut.starts_with("p=")) cut.remove_prefix(2);
  return found;
}

double read_cut(const Measure& measure, std::string_view digits, std::string_view text) {
  double cut = 0;
  if (measure.kind == CutKind::ranks) {
    std::uint64_t ranks = 0;
    if (!parse_number(digits, ranks) || ranks < 1 || ranks > max_cut || digits.front() == '0')
      throw InvalidArgument("measure '{}': the cut must be a number from 1 to {:.0f}", text, max_cut);
    cut = static_cast<double>(ranks);
  } else if (!parse_number(digits, cut) || !(cut >= 0 && cut <= max_cut)) {
    throw InvalidArgument("measure '{}': {} must be a decimal from 0 to {:.0f}", text, digits, max_cut);
  }
  return cut;
}

}  // namespace

JudgedRanking judged_ranking(std::span<const std::int32_t> results, std::span<const std::int32_t> judged,
                             std::int32_t level, TrecEval version) {
  JudgedRanking ranking{results, judged, level, version};
  ranking.relevant = relevant_among(judged, level);
  ranking.not_relevant = relevant_among(judged, 0) - ranking.relevant;
  ranking.found = relevant_among(results, level);
  return ranking;
}

std::span<const Measure> all_measures() { return measure_table; }

std::string MeasureChoice::name() const {
  if (measure->cuts.empty()) return std::string(measure->name);
  if (measure->kind == CutKind::ranks) return fmt::format("{}_{:.0f}", measure->name, cut);
  if (measure->kind == CutKind::ratio) return fmt::format("{}_{:.2f}", measure->name, cut);
  if (cut == measure->cuts.front()) return std::string(measure->name);
  return fmt::format("{}_{}{}", measure->name, measure->name.starts_with("rbp") ? "p=" : "", cut);
}

std::vector<MeasureChoice> measures_named(std::string_view text) {
  std::string_view digits;
  const Measure* const cut_measure = measure_with_cut(text, digits);
  if (cut_measure != nullptr) return {{cut_measure, read_cut(*cut_measure, digits, text)}};
  const Measure& measure = find_named(measure_table, text, "measure");
  if (measure.cuts.empty()) return {{&measure}};
  std::vector<MeasureChoice> choices;
  for (const double cut : measure.cuts) choices.push_back({&measure, cut});
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
    read_run(run, [&](const RunLineText& line, std::uint64_t number) {
      if (std::isnan(line.double_score))
        throw CorruptFile("{}, line {}: the score is not a number, so the result has no rank", values.name, number);
      const bool in_float = options_.version == TrecEval::v9;
      add(line.qid, line.docno, file, in_float ? static_cast<float>(line.double_score) : line.double_score, number);
      if (values.first_qid.empty()) values.first_qid = line.qid;
      values.tag = line.tag;
      progress.add();
    });
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
