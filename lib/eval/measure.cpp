#include "quern/eval/measure.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "quern/core/named.hpp"

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

}  // namespace quern
