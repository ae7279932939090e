#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

/// Whether two runs differ by more than chance: tests of their queries' differences. All are two-sided.
namespace quern {

/// Student's paired t-test.
struct TTest {
  double t = 0;  ///< infinite if all differences are the same, and not 0
  std::uint64_t degrees = 0;
  double p = 1;
};

/// Nothing for fewer than two differences, which must be finite. t is 0 and p is 1 if all are 0.
std::optional<TTest> paired_t_test(std::span<const double> differences);

struct RandomizationOptions {
  std::uint64_t samples = 100'000;  ///< random choices of signs, where there are too many to try all
  std::uint64_t seed = 1;
};

/// Fisher's randomization test of the sum: if the runs did not differ, each difference could as well have the other
/// sign.
struct RandomizationTest {
  double p = 1;
  bool is_exact = true;     ///< whether all choices of signs were tried
  std::uint64_t tried = 1;  ///< choices of signs
};

/// Differences that are not 0 with which all choices of signs are tried.
inline constexpr std::size_t max_exact_differences = 20;

/// Differences are rounded to multiples of 2^-40 (less fine if they are many, or larger than 1), and sums that differ
/// by no more than this rounding are the same: their order does not matter. p counts what was seen as one of the
/// choices, so that it is never 0 (Phipson and Smyth 2010). Throws InvalidArgument for 0 samples, and differences that
/// are not finite.
RandomizationTest randomization_test(std::span<const double> differences, const RandomizationOptions& options);

/// How many differences are above, at and below 0, where those that randomization_test() takes for 0 are.
struct SignCounts {
  std::uint64_t above = 0, zero = 0, below = 0;
};
SignCounts count_signs(std::span<const double> differences);

/// p adjusted for being the smallest, second smallest, ... of several (Holm 1979: A Simple Sequentially Rejective
/// Multiple Test Procedure), in the order of `p`.
std::vector<double> holm_adjusted(std::span<const double> p);

/// How likely |T| is at least |t|, for Student's distribution with so many degrees of freedom, at least 1: the
/// two-sided p of a t-test. Its relative error is below 1e-12 where t and the degrees are below 1e6. 0 for an infinite
/// t.
double student_t_tails(double t, double degrees);

}  // namespace quern
