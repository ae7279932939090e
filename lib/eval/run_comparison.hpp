#pragma once
#include "quern/eval/run_evaluator.hpp"

/// Two-sided significance tests of the differences between two runs, query by query.
namespace quern {

/// Student's paired t-test.
struct TTest {
  double t = 0;  ///< infinite if all differences are equal and not 0
  std::uint64_t degrees = 0;
  double p = 1;
};

/// Empty for fewer than two differences, which must be finite. t is 0 and p is 1 if all are 0.
std::optional<TTest> paired_t_test(std::span<const double> differences);

struct RandomizationOptions {
  std::uint64_t samples = 100'000;  ///< random sign choices if there are too many to try all
  std::uint64_t seed = 1;
};

/// Fisher's randomization test of the sum: under the null hypothesis, each difference could equally have the other
/// sign.
struct RandomizationTest {
  double p = 1;
  bool is_exact = true;     ///< whether all sign choices were tried
  std::uint64_t tried = 1;  ///< sign choices
};

/// Up to this many non-zero differences, all sign choices are tried.
inline constexpr std::size_t max_exact_differences = 20;

/// Differences are rounded to multiples of 2^-40 (coarser if they are many, or larger than 1), and sums that differ by
/// no more than this rounding count as equal, so that the order of differences does not matter. p includes the observed
/// choice, so that it is never 0 (Phipson and Smyth 2010). Throws InvalidArgument for 0 samples or non-finite
/// differences.
RandomizationTest randomization_test(std::span<const double> differences, const RandomizationOptions& options);

/// p values adjusted for multiple comparisons (Holm 1979: A Simple Sequentially Rejective Multiple Test Procedure), in
/// the order of `p`.
std::vector<double> holm_adjusted(std::span<const double> p);

/// The probability that |T| >= |t| under Student's distribution with `degrees` degrees of freedom (at least 1): the
/// two-sided p of a t-test. The relative error is below 1e-12 if t and `degrees` are below 1e6. 0 for an infinite t.
double student_t_tails(double t, double degrees);

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
  std::uint64_t queries = 0;  ///< compared queries
  std::vector<MeasureComparison> measures;
};

/// The measures by which runs can be compared: means of the queries' values.
std::vector<MeasureChoice> comparable_measures(std::vector<MeasureChoice> measures);

/// Compares the first of several runs with each of the others. Throws InvalidArgument for fewer than two runs, for
/// measures that are not comparable_measures(), or if the runs have no query in common.
RunComparison compare_runs(const Evaluation& evaluation, const ComparisonOptions& options);

}  // namespace quern
