#include "quern/eval/student_t.hpp"

#include <cmath>
#include <limits>

namespace quern {
namespace {

/// Γ(a + 1/2) / Γ(a).
double gamma_ratio(double a) {
  if (a < 100) return std::tgamma(a + 0.5) / std::tgamma(a);
  // Its asymptotic series: the first term left out is below 1e-16 from here on.
  const double x = 1 / a;
  return std::sqrt(a) *
         (1 + x * (-1.0 / 8 + x * (1.0 / 128 + x * (5.0 / 1024 + x * (-21.0 / 32768 + x * (-399.0 / 262144))))));
}

/// The continued fraction of the incomplete beta function (Abramowitz and Stegun, 26.5.8), by Lentz's method.
double beta_fraction(double x, double a, double b) {
  constexpr double tiny = 1e-300, close_enough = 1e-16;
  constexpr int most_steps = 100'000;
  const auto away_from_0 = [](double value) { return std::abs(value) < tiny ? tiny : value; };
  double c = 1, d = 1 / away_from_0(1 - (a + b) * x / (a + 1)), fraction = d;
  for (int m = 1; m < most_steps; ++m) {
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

double student_t_tails(double t, double degrees) {
  if (std::isnan(t) || std::isnan(degrees)) return std::numeric_limits<double>::quiet_NaN();
  if (std::isinf(t)) return 0;
  if (t == 0) return 1;
  // The regularized incomplete beta function of x = n / (n + t²), with parameters n/2 and 1/2. Both x and 1 − x are
  // computed from t, since either may be lost in the other.
  const double a = degrees / 2, square = t * t;
  const double x = degrees / (degrees + square), rest = square / (degrees + square);
  const double front = std::exp(-a * std::log1p(square / degrees)) * std::sqrt(rest) * gamma_ratio(a) / std::sqrt(M_PI);
  if (x < (a + 1) / (a + 2.5)) return front * beta_fraction(x, a, 0.5) / a;
  return 1 - front * beta_fraction(rest, 0.5, a) / 0.5;
}

}  // namespace quern
