#include <cmath>
#include <random>

#include "quern/core/natural_log.hpp"

#include "catch.hpp"

namespace quern {
namespace {

using LogRandom = std::mt19937_64;

/// The error of `found`, in units of the last place of the double nearest to `truth`.
double units_off(double found, long double truth) {
  const double size = std::fabs(static_cast<double>(truth));
  const double unit = std::nextafter(size, std::numeric_limits<double>::infinity()) - size;
  return static_cast<double>(std::fabs(static_cast<long double>(found) - truth) / static_cast<long double>(unit));
}

double between(LogRandom& random, double low, double high) {
  return low + (high - low) * (static_cast<double>(random() >> 11) * 0x1p-53);
}

constexpr double inf = std::numeric_limits<double>::infinity();

}  // namespace

TEST_CASE("logarithms have an error below one unit in the last place", "[core][log][property]") {
  LogRandom random(1);
  for (unsigned i = 0; i < 300000; ++i) {
    // In turn: any positive number, one near 1, an ordinary one.
    const double x = i % 3 == 0   ? std::bit_cast<double>(1 + random() % 0x7fefffffffffffff)
                     : i % 3 == 1 ? between(random, 0.6, 1.6)
                                  : between(random, 0, 1e5);
    if (x == 0) continue;
    INFO(x);
    REQUIRE(units_off(natural_log(x), std::log(static_cast<long double>(x))) < 1);
  }
  CHECK(natural_log(1) == 0);
  CHECK(natural_log(0) == -inf);
  CHECK(natural_log(-0.0) == -inf);
  CHECK(natural_log(inf) == inf);
  CHECK(std::isnan(natural_log(-1)));
  CHECK(std::isnan(natural_log(-inf)));
  CHECK(std::isnan(natural_log(std::nan(""))));
}

TEST_CASE("exponentials have an error below one unit in the last place", "[core][log][property]") {
  LogRandom random(2);
  for (unsigned i = 0; i < 300000; ++i) {
    const double x = i % 2 == 0 ? between(random, -708, 709.7) : between(random, -2, 2);
    INFO(x);
    REQUIRE(units_off(exponential(x), std::exp(static_cast<long double>(x))) < 1);
  }
  CHECK(exponential(0) == 1);
  CHECK(exponential(-0.0) == 1);
  CHECK(exponential(709.79) == inf);
  CHECK(exponential(inf) == inf);
  CHECK(exponential(-745.1) == 0x1p-1074);
  CHECK(exponential(-745.2) == 0);
  CHECK(exponential(-inf) == 0);
  CHECK(std::isnan(exponential(std::nan(""))));
}

/// Every compiler and processor must give these bits, including GPUs.
TEST_CASE("logarithms and exponentials have these bits", "[core][log]") {
  static_assert(std::bit_cast<std::uint64_t>(natural_log(2)) == 0x3fe62e42fefa39ef);
  static_assert(std::bit_cast<std::uint64_t>(natural_log(10)) == 0x40026bb1bbb55516);
  static_assert(std::bit_cast<std::uint64_t>(exponential(1)) == 0x4005bf0a8b14576a);
  LogRandom random(3);
  std::uint64_t digest = 0;
  const auto add = [&](std::uint64_t bits) { digest = (digest ^ bits) * 0x9e3779b97f4a7c15 + 1; };
  for (unsigned i = 0; i < 100000; ++i) {
    add(std::bit_cast<std::uint64_t>(natural_log(std::bit_cast<double>(random() % 0x7ff0000000000000))));
    add(std::bit_cast<std::uint64_t>(exponential(between(random, -750, 715))));
  }
  CHECK(digest == 0x2f15c73f2b6759ba);
}

TEST_CASE("functions in float32 are rounded to nearest, or almost", "[core][log][property]") {
  LogRandom random(4);
  const auto off = [](float found, long double truth) {
    const float size = std::fabs(static_cast<float>(truth));
    const float unit = std::nextafter(size, std::numeric_limits<float>::infinity()) - size;
    return std::fabs(static_cast<long double>(found) - truth) / static_cast<long double>(unit);
  };
  for (unsigned i = 0; i < 200000; ++i) {
    const auto x = static_cast<float>(between(random, -30, 30) * (i % 2 == 0 ? 1 : 1e-4));
    INFO(x);
    const long double wide = static_cast<long double>(x);
    REQUIRE(off(hyperbolic_tangent(x), std::tanh(wide)) < 0.5001L);
    REQUIRE(off(logistic(x), 1 / (1 + std::exp(-wide))) < 0.5001L);
    // 1 + x is rounded to double first.
    const auto positive = std::fabs(x);
    const long double sum = static_cast<double>(positive) + 1.0;
    REQUIRE(off(log_of_next(positive), std::log(sum)) < 0.5001L);
  }
  CHECK(hyperbolic_tangent(-0.0f) == 0);
  CHECK(hyperbolic_tangent(1e-30f) == 1e-30f);
  CHECK(hyperbolic_tangent(std::numeric_limits<float>::infinity()) == 1);
  CHECK(logistic(-std::numeric_limits<float>::infinity()) == 0);
  CHECK(log_of_next(0) == 0);
  const float least = std::nextafter(-1.0f, 0.0f);
  CHECK(log_of_next(least) == static_cast<float>(std::log(0x1p-24)));
  CHECK(log_of_next(-1) == log_of_next(least));
  CHECK(log_of_next(-1e30f) == log_of_next(least));
  CHECK(std::isnan(log_of_next(std::nanf(""))));
}

}  // namespace quern
