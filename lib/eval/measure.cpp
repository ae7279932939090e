#include "quern/eval/measure.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "quern/core/bytes.hpp"
#include "quern/core/named.hpp"

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

double reciprocal_rank(const JudgedRanking& ranking, double cut) {
  const auto results = first_results(ranking, cut);
  const auto first =
      std::find_if(results.begin(), results.end(), [&](std::int32_t relevance) { return relevance >= ranking.level; });
  return first == results.end() ? 0 : 1 / static_cast<double>(first - results.begin() + 1);
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

/// The share of the K best exact results, or of all if there are fewer, among the first K results. All documents with
/// the score of the last of these are as good as it.
double exact_recall(const JudgedRanking& ranking, double cut) {
  const auto best = std::min(cut, static_cast<double>(ranking.judged.size()));
  double found = 0;
  for (std::size_t i = 0; i < ranking.results.size() && static_cast<double>(i) < cut; ++i)
    found += ranking.results[i] >= 1 && ranking.results[i] <= best;
  return quotient(std::min(found, best), best);
}

constexpr double usual_cuts[] = {5, 10, 15, 20, 30, 100, 200, 500, 1000};
constexpr double success_cuts[] = {1, 5, 10};
constexpr double exact_cuts[] = {10, 100, 1000};
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
    {"recip_rank_cut", "recip_rank_cut.K: recip_rank of the first K results", as_mean, true, usual_cuts,
     reciprocal_rank},
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
    {"exact_recall", "exact_recall.K: share of the K best exact results among the first K", as_mean, true, exact_cuts,
     exact_recall, CutKind::ranks, true},
};

constexpr std::string_view default_texts[] = {
    "num_q", "num_ret", "num_rel", "num_rel_ret", "map",         "Rprec", "bpref",       "recip_rank",
    "P.5",   "P.10",    "P.20",    "recall.100",  "recall.1000", "ndcg",  "ndcg_cut.10", "ndcg_cut.20"};

/// Names that other programs and papers have for the same values, in lower case.
constexpr std::pair<std::string_view, std::string_view> other_names[] = {
    {"ap", "map"},           {"gmap", "gm_map"},
    {"mrr", "recip_rank"},   {"rr", "recip_rank"},
    {"precision", "P"},      {"r", "recall"},
    {"r-prec", "Rprec"},     {"r-precision", "Rprec"},
    {"rprecision", "Rprec"}, {"iprec", "iprec_at_recall"},
    {"setp", "set_P"},       {"setr", "set_recall"},
    {"setap", "set_map"},    {"setf", "set_F"},
    {"numq", "num_q"},       {"numret", "num_ret"},
    {"numrel", "num_rel"}};

/// The measure that has a name in any case; null if there is none.
const Measure* measure_called(std::string_view name) {
  std::string lowered = ascii_lowered(name);
  for (const auto& [other, known] : other_names)
    if (lowered == other) lowered = ascii_lowered(known);
  for (const Measure& measure : measure_table)
    if (ascii_lowered(measure.name) == lowered) return &measure;
  return nullptr;
}

/// The measure named by `text` with a cut, which it stores in `cut`; null if there is none. map.K is map_cut.K.
const Measure* measure_with_cut(std::string_view text, std::string_view& cut) {
  for (std::size_t at = text.size(); at-- > 0;) {
    if (text[at] != '.' && text[at] != '_' && text[at] != '@') continue;
    cut = text.substr(at + 1);
    const Measure* measure = measure_called(text.substr(0, at));
    if (measure == nullptr) continue;
    if (measure->cuts.empty() && !cut.empty() && is_ascii_digit(cut.front()))
      measure = measure_called(std::string(measure->name) + "_cut");
    if (measure == nullptr || measure->cuts.empty()) continue;
    if (measure->kind == CutKind::parameter && cut.starts_with("p=")) cut.remove_prefix(2);
    return measure;
  }
  return nullptr;
}

double read_cut(const Measure& measure, std::string_view digits, std::string_view text) {
  double cut = 0;
  if (measure.kind == CutKind::ranks) {
    std::uint64_t ranks = 0;
    if (!parse_number(digits, ranks) || ranks < 1 || ranks > max_cut || digits.front() == '0')
      throw InvalidArgument("measure '{}': the cut must be a number from 1 to {:.0f}", text, max_cut);
    return static_cast<double>(ranks);
  }
  const bool is_persistence = measure.cuts.data() == usual_persistence;
  if (!parse_number(digits, cut) || !(cut >= 0 && (is_persistence ? cut < 1 : cut <= max_cut)))
    throw InvalidArgument("measure '{}': {} must be a decimal from 0 to {}{:.0f}", text, digits,
                          is_persistence ? "less than " : "", is_persistence ? 1 : max_cut);
  return cut;
}

/// Whether `text` names a measure with a cut that it can have.
bool has_valid_cut(std::string_view text) {
  std::string_view digits;
  const Measure* measure = measure_with_cut(text, digits);
  if (measure == nullptr) return false;
  try {
    read_cut(*measure, digits, text);
    return true;
  } catch (const InvalidArgument&) {
    return false;
  }
}

/// The name that was probably meant, with the cut at the end of `text`, and all names.
[[noreturn]] void refuse_measure(std::string_view text) {
  const std::vector<std::string> names = names_of(measure_table);
  std::vector<std::string> likely = names;
  for (const auto& [other, known] : other_names) likely.emplace_back(other);
  std::string_view cut = text.substr(text.find_last_not_of("0123456789.") + 1);
  cut.remove_prefix(std::min(cut.find_first_not_of('.'), cut.size()));
  for (std::size_t i = 0, plain = likely.size(); i < plain && !cut.empty(); ++i) {
    std::string with_cut = fmt::format("{}@{}", likely[i], cut);
    if (has_valid_cut(with_cut)) likely.push_back(std::move(with_cut));
  }
  const std::string nearest = nearest_name(likely, text);
  const bool has_blank = text.find_first_of(" \t\n") != text.npos;
  throw InvalidArgument("unknown measure '{}'{} Use one of {}{}", text, nearest.empty() ? "." : nearest,
                        fmt::join(names, ", "), has_blank ? "; separate several measures by commas" : "");
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

std::vector<std::int32_t> exact_ranks(std::span<const double> scores) {
  std::vector<double> sorted(scores.begin(), scores.end());
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  std::vector<std::int32_t> ranks;
  ranks.reserve(scores.size());
  for (const double score : scores)
    ranks.push_back(static_cast<std::int32_t>(std::lower_bound(sorted.begin(), sorted.end(), score, std::greater<>()) -
                                              sorted.begin() + 1));
  return ranks;
}

double MeasureTotal::summary(MeasureSummary kind) const {
  if (kind == MeasureSummary::sum || queries_ == 0) return sum_;
  const double mean = sum_ / static_cast<double>(queries_);
  return kind == MeasureSummary::mean ? mean : std::exp(mean);
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
  const Measure* const measure = measure_called(text);
  if (measure == nullptr) {
    const Measure* const cut_measure = measure_with_cut(text, digits);
    if (cut_measure == nullptr) refuse_measure(text);
    return {{cut_measure, read_cut(*cut_measure, digits, text)}};
  }
  if (measure->cuts.empty()) return {{measure}};
  std::vector<MeasureChoice> choices;
  for (const double cut : measure->cuts) choices.push_back({measure, cut});
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

void check_measures(std::span<const MeasureChoice> measures, bool exact) {
  for (const MeasureChoice& choice : measures) {
    if (choice.measure->of_exact_runs == exact) continue;
    if (exact) throw InvalidArgument("{} needs judgements; an exact run gives only exact_recall", choice.name());
    throw InvalidArgument("{} needs an exact run in place of judgements", choice.name());
  }
}

std::vector<MeasureChoice> default_measures() {
  std::vector<MeasureChoice> choices;
  for (const std::string_view text : default_texts) choices.push_back(measures_named(text).front());
  return choices;
}

std::vector<MeasureChoice> default_exact_measures() { return measures_named(std::string_view("exact_recall")); }

}  // namespace quern
