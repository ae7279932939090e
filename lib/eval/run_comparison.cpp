#include "quern/eval/run_comparison.hpp"

#include <algorithm>
#include <numeric>

#include "quern/core/error.hpp"
#include "quern/core/own_errors.hpp"

namespace quern {
namespace {

/// Indices of the queries to compare.
std::vector<std::size_t> compared_queries(const Evaluation& evaluation, bool complete) {
  std::vector<std::size_t> queries;
  for (std::size_t query = 0; query < evaluation.qids.size(); ++query) {
    if (complete || std::all_of(evaluation.runs.begin(), evaluation.runs.end(),
                                [query](const RunValues& run) { return run.has_results[query]; }))
      queries.push_back(query);
  }
  return queries;
}

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

RunDifference run_difference(std::span<const double> first, std::span<const double> other,
                             const RandomizationOptions& options) {
  std::vector<double> differences(first.size());
  for (std::size_t i = 0; i < first.size(); ++i) differences[i] = other[i] - first[i];
  RunDifference result;
  result.mean = mean_of(other);
  result.difference = result.mean - mean_of(first);
  const SignCounts counts = count_signs(differences);
  result.wins = counts.above;
  result.ties = counts.zero;
  result.losses = counts.below;
  result.t_test = paired_t_test(differences);
  result.randomization = randomization_test(differences, options);
  return result;
}

void adjust(std::vector<RunDifference>& runs) {
  std::vector<double> t_p, randomization_p;
  for (const RunDifference& run : runs) {
    if (run.t_test) t_p.push_back(run.t_test->p);  // either all runs have one or none
    randomization_p.push_back(run.randomization.p);
  }
  t_p = holm_adjusted(t_p);
  randomization_p = holm_adjusted(randomization_p);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!t_p.empty()) runs[i].holm_t_p = t_p[i];
    runs[i].holm_randomization_p = randomization_p[i];
  }
}

}  // namespace

std::vector<MeasureChoice> comparable_measures(std::vector<MeasureChoice> measures) {
  std::erase_if(measures, [](const MeasureChoice& choice) { return choice.measure->summary != MeasureSummary::mean; });
  return measures;
}

RunComparison compare_runs(const Evaluation& evaluation, const ComparisonOptions& options) {
  return with_own_errors([&]() -> RunComparison {
    if (evaluation.runs.size() < 2) throw InvalidArgument("a comparison needs at least two runs");
    const std::vector<std::size_t> queries = compared_queries(evaluation, options.complete);
    if (queries.empty())
      throw InvalidArgument("the runs have no judged query in common; compare runs of the same queries");
    RunComparison comparison;
    comparison.queries = queries.size();
    comparison.left_out = evaluation.qids.size() - queries.size();
    for (std::size_t measure = 0; measure < evaluation.measures.size(); ++measure) {
      const MeasureChoice& choice = evaluation.measures[measure];
      if (choice.measure->summary != MeasureSummary::mean)
        throw InvalidArgument(choice.name() + " is not a mean over queries, so runs can't be compared by it");
      const auto values_of = [&](std::size_t run) {
        std::vector<double> values;
        for (const std::size_t query : queries) values.push_back(evaluation.value(run, query, measure));
        return values;
      };
      const std::vector<double> first = values_of(0);
      MeasureComparison& compared = comparison.measures.emplace_back(MeasureComparison{choice, mean_of(first), {}});
      for (std::size_t run = 1; run < evaluation.runs.size(); ++run)
        compared.others.push_back(run_difference(first, values_of(run), options.randomization));
      adjust(compared.others);
    }
    return comparison;
  });
}

}  // namespace quern
