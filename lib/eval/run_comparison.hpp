#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "quern/eval/paired_tests.hpp"
#include "quern/eval/run_evaluation.hpp"

namespace quern {

struct ComparisonOptions {
  /// Whether all queries with judgements count, those of no results with their measures' values for none; else those
  /// that all runs have results for.
  bool complete = false;
  RandomizationOptions randomization;
};

/// A run beside the first one, by one measure.
struct RunDifference {
  double mean = 0;                               ///< of the run
  double difference = 0;                         ///< its mean less that of the first run
  std::uint64_t wins = 0, ties = 0, losses = 0;  ///< queries where it is better than the first run, the same, worse
  std::optional<TTest> t_test;                   ///< nothing with fewer than two queries
  RandomizationTest randomization;
  /// p of the tests, adjusted for the number of runs.
  std::optional<double> holm_t_p;
  double holm_randomization_p = 1;
};

struct MeasureComparison {
  MeasureChoice measure;
  double first_mean = 0;              ///< of the first run
  std::vector<RunDifference> others;  ///< of the other runs, in their order
};

struct RunComparison {
  std::uint64_t queries = 0;   ///< that were compared
  std::uint64_t left_out = 0;  ///< with judgements, but without results in one of the runs
  std::vector<MeasureComparison> measures;
};

/// Those of the measures that runs can be compared by: means of the queries' values.
std::vector<MeasureChoice> comparable_measures(std::vector<MeasureChoice> measures);

/// Compares the first of several runs with each of the others. Throws InvalidArgument for fewer than two runs, for
/// measures that are not comparable_measures(), and if the runs have no query in common.
RunComparison compare_runs(const Evaluation& evaluation, const ComparisonOptions& options);

}  // namespace quern
