#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "quern/eval/paired_tests.hpp"
#include "quern/eval/run_evaluation.hpp"

namespace quern {

struct ComparisonOptions {
  /// Whether all queries with judgements count, with the measures' values for no results if necessary; otherwise only
  /// those for which all runs have results.
  bool complete = false;
  RandomizationOptions randomization;
};

/// A run compared with the first one by one measure.
struct RunDifference {
  double mean = 0;                               ///< of the run
  double difference = 0;                         ///< its mean minus the first run's
  std::uint64_t wins = 0, ties = 0, losses = 0;  ///< queries where it is better than the first run, equal, worse
  std::optional<TTest> t_test;                   ///< empty with fewer than two queries
  RandomizationTest randomization;
  /// The tests' p values, adjusted for the number of runs.
  std::optional<double> holm_t_p;
  double holm_randomization_p = 1;
};

struct MeasureComparison {
  MeasureChoice measure;
  double first_mean = 0;              ///< of the first run
  std::vector<RunDifference> others;  ///< the other runs, in order
};

struct RunComparison {
  std::uint64_t queries = 0;   ///< compared queries
  std::uint64_t left_out = 0;  ///< with judgements, but without results in some run
  std::vector<MeasureComparison> measures;
};

/// The measures by which runs can be compared: means of the queries' values.
std::vector<MeasureChoice> comparable_measures(std::vector<MeasureChoice> measures);

/// Compares the first of several runs with each of the others. Throws InvalidArgument for fewer than two runs, for
/// measures that are not comparable_measures(), or if the runs have no query in common.
RunComparison compare_runs(const Evaluation& evaluation, const ComparisonOptions& options);

}  // namespace quern
