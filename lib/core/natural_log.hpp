#pragma once
#include <bit>
#include <cstdint>
#include <limits>

/// Logarithm and exponential function built only from additions, multiplications, divisions and bit operations, without
/// contraction. Unlike std::log and std::exp, they give the same bits with every compiler, library and processor, GPUs
/// included. They have no loops, so compilers can vectorize their callers (GCC with -fno-trapping-math, which changes
/// no result). Reductions and polynomials are those of fdlibm (e_log.c, e_exp.c; Sun Microsystems, 1993).
namespace quern {

/// ln(x), with an error below one unit in the last place: -inf for zeros, NaN for negative numbers and NaN.
constexpr double natural_log(double x) {
  constexpr double ln2_high = 6.93147180369123816490e-01, ln2_low = 1.90821492927058770002e-10;
  constexpr std::uint64_t root_half = 0x3fe6a09e667f3bcd, one = 0x3ff0000000000000, fraction = 0x000fffffffffffff;
  // x = m · 2^k, where m is from √½ to √2.
  const bool tiny = x < 0x1p-1022;
  const double scaled = x * (tiny ? 0x1p54 : 1.0);
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(scaled) + (one - root_half);
  // 2^52 + the exponent, as a double.
  const double exponent = std::bit_cast<double>((bits >> 52) | 0x4330000000000000);
  const double k = (exponent - (0x1p52 + 1023)) - (tiny ? 54.0 : 0.0);
  const double m = std::bit_cast<double>((bits & fraction) + root_half);
  // ln(1 + f) = f - f²/2 + s · (f²/2 + R(s²)), where s = f / (2 + f).
  const double f = m - 1.0;
  const double s = f / (2.0 + f);
  const double z = s * s, w = z * z;
  const double even = w * (3.999999999940941908e-01 + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
  const double odd =
      z * (6.666666666666735130e-01 +
           w * (2.857142874366239149e-01 + w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)));
  const double half_square = 0.5 * f * f;
  const double result = k * ln2_high - ((half_square - (s * (half_square + (odd + even)) + k * ln2_low)) - f);
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const double positive_result = x < infinity ? result : x;  // infinity and NaN stay as they are
  const double other_result = x < 0 ? std::numeric_limits<double>::quiet_NaN() : -infinity;
  return x <= 0 ? other_result : positive_result;
}

/// log2(x), as natural_log() times log2(e): infinities and NaN as there.
constexpr double binary_log(double x) { return natural_log(x) * 1.4426950408889634; }

/// e^x, with an error below one unit in the last place unless the result is denormal.
constexpr double exponential(double x) {
  constexpr double ln2_high = 6.93147180369123816490e-01, ln2_low = 1.90821492927058770002e-10;
  constexpr double per_ln2 = 1.44269504088896338700e+00, rounding = 0x1.8p52;
  // Outside this range the result is 0 or infinity anyway. NaN becomes the lower bound here, and NaN again at the end.
  const double above = x > -746.0 ? x : -746.0;
  const double within = above < 710.0 ? above : 710.0;
  // x = k · ln(2) + r, k an integer.
  const double shifted = within * per_ln2 + rounding;
  const double k = shifted - rounding;
  const double high = within - k * ln2_high, low = k * ln2_low;
  const double r = high - low;
  const double t = r * r;
  const double c =
      r -
      t * (1.66666666666666019037e-01 +
           t * (-2.77777777770155933842e-03 +
                t * (6.61375632143793436117e-05 + t * (-1.65339022054652515390e-06 + t * 4.13813679705723846039e-08))));
  const double power = 1.0 - ((low - (r * c) / (2.0 - c)) - high);
  // 2^k as two factors, since k is from -1,076 to 1,024. The low bits of `shifted` hold k, here plus 2,048.
  const std::uint64_t all = std::bit_cast<std::uint64_t>(shifted + 2048.0) & 0xfff;
  const std::uint64_t half = all / 2, rest = all - half;
  const double first = std::bit_cast<double>((half + 1023 - 1024) << 52);
  const double second = std::bit_cast<double>((rest + 1023 - 1024) << 52);
  const double result = power * first * second;
  return x == x ? result : x;
}

/// x, but at least the smallest float32 above -1.
constexpr float above_minus_one(float x) {
  constexpr float least = -0x1.fffffep-1f;
  return x < least ? least : x;
}

/// ln(x + 1) in float32, computed in double; callers pass x through above_minus_one() first.
constexpr float log_of_next(float x) {
  return static_cast<float>(natural_log(static_cast<double>(above_minus_one(x)) + 1.0));
}

/// 1 / (1 + e^-x) in float32, computed in double.
constexpr float logistic(float x) { return static_cast<float>(1.0 / (1.0 + exponential(-static_cast<double>(x)))); }

/// tanh(x) in float32, computed in double.
constexpr float hyperbolic_tangent(float x) {
  const double value = x;
  const double size = value < 0 ? -value : value;
  const double by_exponential = 1.0 - 2.0 / (exponential(2.0 * size) + 1.0);
  // The exponential would lose the digits of small numbers.
  const double by_series = size - size * size * size * (1.0 / 3.0);
  const double result = size < 1e-3 ? by_series : by_exponential;
  return static_cast<float>(value < 0 ? -result : result);
}

}  // namespace quern
