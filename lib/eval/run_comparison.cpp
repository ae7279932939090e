#include "quern/eval/run_comparison.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "quern/core/random.hpp"

namespace quern {
namespace {

/// Indices of the queries to compare.
std::vector<std::size_t> compared_queries(const Evaluation& evaluation, bool complete) {
  std::vector<std::size_t> queries;
  for (std::size_t query = 0; query < evaluation.qids.size(); ++query)
    if (complete || std::all_of(evaluation.runs.begin(), evaluation.runs.end(),
                                [query](const RunValues& run) { return run.has_results[query]; }))
      queries.push_back(query);
  return queries;
}

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

void check_finite(std::span<const double> differences) {
  if (!std::all_of(differences.begin(), differences.end(), [](double x) { return std::isfinite(x); }))
    throw InvalidArgument("a test needs finite differences");
}

/// Converts differences to integers in a unit in which no sum overflows.
std::vector<std::int64_t> whole_differences(std::span<const double> differences) {
  check_finite(differences);
  double largest = 1;
  for (const double difference : differences) largest = std::max(largest, std::abs(difference));
  const int bits_of_count = static_cast<int>(std::bit_width(differences.size()));
  const int fraction_bits = std::min(40, 60 - bits_of_count - std::ilogb(largest));
  std::vector<std::int64_t> whole;
  for (const double difference : differences) whole.push_back(std::llround(std::ldexp(difference, fraction_bits)));
  return whole;
}

RunDifference run_difference(std::span<const double> first, std::span<const double> other,
                             const RandomizationOptions& options) {
  std::vector<double> differences(first.size());
  for (std::size_t i = 0; i < first.size(); ++i) differences[i] = other[i] - first[i];
  RunDifference result;
  result.mean = mean_of(other);
  result.difference = result.mean - mean_of(first);
  // A difference that randomization_test() rounds to 0 is a tie.
  for (const std::int64_t difference : whole_differences(differences)) {
    result.wins += difference > 0;
    result.ties += difference == 0;
    result.losses += difference < 0;
  }
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

/// The number of sign choices whose sum is at least as far from 0 as `seen`. Tries all, each of which differs in one
/// sign from the previous one (a Gray code).
std::uint64_t count_all(std::span<const std::int64_t> differences, std::int64_t seen) {
  std::vector<std::int64_t> signed_differences(differences.begin(), differences.end());
  std::int64_t sum = std::accumulate(differences.begin(), differences.end(), std::int64_t{0});
  std::uint64_t as_far = std::abs(sum) >= seen;
  for (std::uint64_t i = 1; i < std::uint64_t{1} << differences.size(); ++i) {
    std::int64_t& turned = signed_differences[static_cast<std::size_t>(std::countr_zero(i))];
    sum -= 2 * turned;
    turned = -turned;
    as_far += std::abs(sum) >= seen;
  }
  return as_far;
}

/// A sum with random signs.
std::int64_t random_sum(std::span<const std::int64_t> differences, RandomBits& random) {
  std::int64_t sum = 0;
  for (std::size_t from = 0; from < differences.size(); from += 64) {
    std::uint64_t signs = random.next();
    for (const std::int64_t difference :
         differences.subspan(from, std::min<std::size_t>(64, differences.size() - from))) {
      const auto mask = -static_cast<std::int64_t>(signs & 1);  // all bits set flips the sign
      sum += (difference ^ mask) - mask;
      signs >>= 1;
    }
  }
  return sum;
}

/// Γ(a + 1/2) / Γ(a).
double gamma_ratio(double a) {
  if (a < 100) return std::tgamma(a + 0.5) / std::tgamma(a);
  // The asymptotic series: the first omitted term is below 1e-16 from here on.
  const double x = 1 / a;
  return std::sqrt(a) *
         (1 + x * (-1.0 / 8 + x * (1.0 / 128 + x * (5.0 / 1024 + x * (-21.0 / 32768 + x * (-399.0 / 262144))))));
}

/// The continued fraction of the incomplete beta function (Abramowitz and Stegun, 26.5.8), by Lentz's method.
double beta_fraction(double x, double a, double b) {
  constexpr double tiny = 1e-300, close_enough = 1e-16;
  constexpr int max_steps = 100'000;
  const auto away_from_0 = [](double value) { return std::abs(value) < tiny ? tiny : value; };
  double c = 1, d = 1 / away_from_0(1 - (a + b) * x / (a + 1)), fraction = d;
  for (int m = 1; m < max_steps; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away_from_0(1 + even * d);
    c = away_from_0(1 + even / c);
    fraction *= c * d;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away_from_0(1 + odd * d);
    c = away_from_0(1 + odd / c);
    const double step = c * d;
    fraction *= step;
    if (std::abs(step - 1) < close_enough) break;
  }
  return fraction;
}

}  // namespace

std::vector<MeasureChoice> comparable_measures(std::vector<MeasureChoice> measures) {
  std::erase_if(measures, [](const MeasureChoice& choice) { return choice.measure->summary != MeasureSummary::mean; });
  return measures;
}

RunComparison compare_runs(const Evaluation& evaluation, const ComparisonOptions& options) {
  if (evaluation.runs.size() < 2) throw InvalidArgument("a comparison needs at least two runs");
  const std::vector<std::size_t> queries = compared_queries(evaluation, options.complete);
  if (queries.empty())
    throw InvalidArgument("the runs have no judged query in common; compare runs of the same queries");
  RunComparison comparison;
  comparison.queries = queries.size();
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
}

std::optional<TTest> paired_t_test(std::span<const double> differences) {
  check_finite(differences);
  if (differences.size() < 2) return std::nullopt;
  const auto n = static_cast<double>(differences.size());
  const double mean = std::accumulate(differences.begin(), differences.end(), 0.0) / n;
  double squares = 0;
  for (const double difference : differences) squares += (difference - mean) * (difference - mean);
  TTest test;
  test.degrees = differences.size() - 1;
  // If all differences are equal, rounding of their mean must not count as variance.
  const bool all_same = std::all_of(differences.begin(), differences.end(),
                                    [&](double difference) { return difference == differences.front(); });
  if (all_same && differences.front() == 0) return test;
  test.t = all_same ? std::copysign(INFINITY, mean) : mean / std::sqrt(squares / (n - 1) / n);
  test.p = student_t_tails(test.t, n - 1);
  return test;
}

RandomizationTest randomization_test(std::span<const double> differences, const RandomizationOptions& options) {
  check_range<std::uint64_t>("samples", options.samples, 1, 1'000'000'000);
  std::vector<std::int64_t> whole = whole_differences(differences);
  std::erase(whole, 0);
  // Each difference is rounded by at largest half a unit, so equal sums may differ by up to n units.
  const std::int64_t seen =
      std::abs(std::accumulate(whole.begin(), whole.end(), std::int64_t{0})) - static_cast<std::int64_t>(whole.size());
  RandomizationTest test;
  test.is_exact = whole.size() <= max_exact_differences;
  if (test.is_exact) {
    test.tried = std::uint64_t{1} << whole.size();
    test.p = static_cast<double>(count_all(whole, seen)) / static_cast<double>(test.tried);
    return test;
  }
  RandomBits random(options.seed);
  std::uint64_t as_far = 0;
  for (std::uint64_t i = 0; i < options.samples; ++i) as_far += std::abs(random_sum(whole, random)) >= seen;
  test.tried = options.samples;
  test.p = static_cast<double>(as_far + 1) / static_cast<double>(options.samples + 1);
  return test;
}

std::vector<double> holm_adjusted(std::span<const double> p) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return p[a] < p[b]; });
  std::vector<double> adjusted(p.size());
  double least = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    least = std::max(least, std::min(1.0, static_cast<double>(order.size() - i) * p[order[i]]));
    adjusted[order[i]] = least;
  }
  return adjusted;
}

double student_t_tails(double t, double degrees) {
  if (std::isnan(t) || std::isnan(degrees)) return std::numeric_limits<double>::quiet_NaN();
  if (std::isinf(t)) return 0;
  if (t == 0) return 1;
  // The regularized incomplete beta function of x = n / (n + t²), with parameters n/2 and 1/2. Computes both x and 1 −
  // x from t, since one from the other may lose all digits.
  const double a = degrees / 2, square = t * t;
  const double x = degrees / (degrees + square), rest = square / (degrees + square);
  const double front = std::exp(-a * std::log1p(square / degrees)) * std::sqrt(rest) * gamma_ratio(a) / std::sqrt(M_PI);
  if (x < (a + 1) / (a + 2.5)) return front * beta_fraction(x, a, 0.5) / a;
  return 1 - front * beta_fraction(rest, 0.5, a) / 0.5;
}

}  // namespace quern
