#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "quern/core/error.hpp"
#include "quern/eval/run_comparison.hpp"

#include "catch.hpp"
#include "eval/judged_run.hpp"

namespace quern {
namespace {

using testing::evaluate_texts;

/// p of the randomization test by its definition: sums every choice of signs from scratch.
double all_signs(const std::vector<int>& differences) {
  const auto sum = [&](std::uint64_t signs) {
    int total = 0;
    for (std::size_t i = 0; i < differences.size(); ++i) total += signs >> i & 1 ? -differences[i] : differences[i];
    return std::abs(total);
  };
  std::uint64_t as_far = 0;
  const std::uint64_t choices = std::uint64_t{1} << differences.size();
  for (std::uint64_t signs = 0; signs < choices; ++signs) as_far += sum(signs) >= sum(0);
  return static_cast<double>(as_far) / static_cast<double>(choices);
}

}  // namespace

TEST_CASE("Tails of Student's distribution have known values", "[evaluation]") {
  struct Case {
    double t, degrees, p;
  };
  // One and two degrees have closed forms; the other values are mpmath's, with 60 digits.
  for (const double t : {1e-8, 0.1, 1.0, 2.5, 40.0, 1e5}) {
    INFO(t);
    CHECK(student_t_tails(t, 1) == Approx(2 * std::atan2(1, t) / M_PI).epsilon(1e-13));
    const double root = std::sqrt(t * t + 2);
    CHECK(student_t_tails(t, 2) == Approx(2 / (root * (root + t))).epsilon(1e-13));
    CHECK(student_t_tails(-t, 2) == student_t_tails(t, 2));
  }
  for (const auto& [t, degrees, p] :
       {Case{0.5, 5, 0.63829887164092901}, Case{2.0, 10, 0.073388034770740366}, Case{1.9858, 92, 0.050032353299516059},
        Case{6.088, 92, 2.6075288840609216e-8}, Case{12.0, 92, 1.5978070677641347e-20},
        Case{2.5, 199, 0.013227259966507703}, Case{2.5, 200, 0.013223172641700791},
        Case{0.001, 4981, 0.99920215561759704}, Case{3.25, 4981, 0.0011617188972897703},
        Case{2.0, 999999, 0.045500533851589164}, Case{30.0, 3, 8.1352804271639595e-5}}) {
    INFO(t << " with " << degrees);
    CHECK(student_t_tails(t, degrees) == Approx(p).epsilon(1e-10));
  }
  CHECK(student_t_tails(0, 7) == 1);
  CHECK(student_t_tails(std::numeric_limits<double>::infinity(), 7) == 0);
  double before = 1;
  for (double t = 0.01; t < 100; t *= 1.01) {
    const double p = student_t_tails(t, 12);
    CHECK(p < before);
    before = p;
  }
}

TEST_CASE("The t-test has the values of a worked example", "[evaluation]") {
  // Mean 0.2, squares of deviations 0.02 + 0 + 0.02: s² = 0.02 for 3 differences of 0.1, 0.2, 0.3 is 0.01.
  const std::vector<double> differences{0.1, 0.2, 0.3};
  const auto test = paired_t_test(differences);
  REQUIRE(test);
  CHECK(test->t == Approx(0.2 / std::sqrt(0.01 / 3)).epsilon(1e-13));
  CHECK(test->degrees == 2);
  CHECK(test->p == Approx(1 - std::sqrt(12.0 / 14)).epsilon(1e-12));  // t² = 12; the closed form of two degrees
  CHECK_FALSE(paired_t_test(std::vector<double>{0.5}));
  CHECK_FALSE(paired_t_test({}));
  const auto none = paired_t_test(std::vector<double>{0, 0, 0});
  CHECK((none->t == 0 && none->p == 1));
  const auto same = paired_t_test(std::vector<double>(7, -0.1));
  CHECK((same->t == -std::numeric_limits<double>::infinity() && same->p == 0));
  CHECK_THROWS_AS(paired_t_test(std::vector<double>{0, NAN}), InvalidArgument);
}

TEST_CASE("The randomization test tries all choices of signs where they are few", "[evaluation][property]") {
  const auto p = [](const std::vector<double>& differences) {
    const RandomizationTest test = randomization_test(differences, {});
    CHECK(test.is_exact);
    return test.p;
  };
  CHECK(p({}) == 1);
  CHECK(p({0, 0}) == 1);
  CHECK(p({0.5}) == 1);
  CHECK(p({0.1, 0.2, 0.3}) == 0.25);   // only the two choices with equal signs
  CHECK(p({0.3, 0.1, -0.2}) == 0.75);  // sums of ±0.6, ±0.4, ±0.2 and 0 twice: all but the last two
  CHECK(p({0.1, 0.2, -0.3}) == 1);     // a sum of 0, despite rounding
  std::mt19937 random(3);
  for (int round = 0; round < 60; ++round) {
    std::vector<int> tenths(1 + random() % 11);
    for (int& tenth : tenths) tenth = static_cast<int>(random() % 9) - 3;
    std::vector<double> differences;
    // Computed like differences of measures: 0.3 - 0.1 is not the double 0.2.
    for (const int tenth : tenths) differences.push_back((tenth + 7) / 10.0 - 0.7);
    CHECK(p(differences) == all_signs(tenths));
  }
}

TEST_CASE("Random choices of signs approximate the share of all choices, and depend only on the seed", "[evaluation]") {
  std::mt19937 random(4);
  std::vector<double> differences;
  std::vector<int> hundredths;
  for (int i = 0; i < 20; ++i) {
    hundredths.push_back(static_cast<int>(random() % 21) - 8);
    if (hundredths.back() == 0) hundredths.back() = 1;
    differences.push_back(hundredths.back() / 100.0);
  }
  const double exact = randomization_test(differences, {}).p;
  REQUIRE(exact > 0.01);
  REQUIRE(exact < 0.9);
  // One more difference makes them too many to try all; it is so small that it only breaks ties between sums.
  differences.push_back(1e-9);
  const RandomizationTest test = randomization_test(differences, {100'000, 7});
  CHECK_FALSE(test.is_exact);
  CHECK(test.tried == 100'000);
  const double without_ties = [&] {
    std::uint64_t further = 0, ties = 0;
    const auto sum = [&](std::uint64_t signs) {
      int total = 0;
      for (std::size_t i = 0; i < 20; ++i) total += signs >> i & 1 ? -hundredths[i] : hundredths[i];
      return std::abs(total);
    };
    for (std::uint64_t signs = 0; signs < 1 << 20; ++signs) {
      further += sum(signs) > sum(0);
      ties += sum(signs) == sum(0);
    }
    return (static_cast<double>(further) + static_cast<double>(ties) / 2) / (1 << 20);
  }();
  const double deviation = std::sqrt(without_ties * (1 - without_ties) / 100'000);
  CHECK(std::abs(test.p - without_ties) < 5 * deviation);
  CHECK(randomization_test(differences, {100'000, 7}).p == test.p);
  CHECK(randomization_test(differences, {100'000, 8}).p != test.p);
  std::vector<double> negative;
  for (const double difference : differences) negative.push_back(-difference);
  CHECK(std::abs(randomization_test(negative, {100'000, 7}).p - test.p) < 7 * deviation);
  // Never 0, even if no sampled choice is as far.
  CHECK(randomization_test(std::vector<double>(100, 0.5), {999, 1}).p == 0.001);
  CHECK_THROWS_AS(randomization_test(differences, {0, 1}), InvalidArgument);
  CHECK_THROWS_AS(randomization_test(std::vector<double>{INFINITY}, {}), InvalidArgument);
  CHECK(randomization_test(std::vector<double>{1e300, -1e300, 1e300}, {}).p == 1);
}

TEST_CASE("Holm's correction has the values of a worked example", "[evaluation]") {
  CHECK(holm_adjusted(std::vector<double>{0.01, 0.04, 0.03}) == std::vector<double>{0.03, 0.06, 0.06});
  CHECK(holm_adjusted(std::vector<double>{0.5, 0.6}) == std::vector<double>{1, 1});
  CHECK(holm_adjusted(std::vector<double>{0.2}) == std::vector<double>{0.2});
  CHECK(holm_adjusted({}).empty());
}

TEST_CASE("Comparisons pair queries, and count those without results only on request", "[evaluation]") {
  const std::string qrels = "1 0 a 1\n2 0 a 1\n3 0 a 1\n4 0 a 1\n5 0 a 1\n";
  const std::string worse = "1 Q0 b 1 2 t\n1 Q0 a 2 1 t\n2 Q0 a 1 1 t\n3 Q0 a 1 1 t\n4 Q0 b 1 2 t\n4 Q0 a 2 1 t\n";
  const std::string better = "1 Q0 a 1 1 t\n2 Q0 a 1 1 t\n3 Q0 b 1 2 t\n3 Q0 a 2 1 t\n5 Q0 a 1 1 t\n";
  EvaluationOptions options;
  options.measures = measures_named(std::vector<std::string>{"map", "success.1"});
  const Evaluation evaluation = evaluate_texts({worse, better}, qrels, options);
  const RunComparison common = compare_runs(evaluation, {});
  CHECK(common.queries == 3);
  REQUIRE(common.measures.size() == 2);
  REQUIRE(common.measures[0].others.size() == 1);
  CHECK(common.measures[0].measure.name() == "map");
  const RunDifference& map = common.measures[0].others[0];
  CHECK(common.measures[0].first_mean == Approx(2.5 / 3).epsilon(1e-15));
  CHECK(map.mean == Approx(2.5 / 3).epsilon(1e-15));
  CHECK(map.difference == 0);
  CHECK((map.wins == 1 && map.ties == 1 && map.losses == 1));
  CHECK((map.t_test->t == 0 && map.t_test->p == 1 && map.randomization.p == 1));

  ComparisonOptions complete;
  complete.complete = true;
  const RunComparison all = compare_runs(evaluation, complete);
  CHECK(all.queries == 5);
  const RunDifference& over_all = all.measures[0].others[0];
  CHECK(all.measures[0].first_mean == Approx(3.0 / 5).epsilon(1e-15));
  CHECK(over_all.mean == Approx(3.5 / 5).epsilon(1e-15));
  CHECK((over_all.wins == 2 && over_all.ties == 1 && over_all.losses == 2));
  CHECK(over_all.holm_t_p == over_all.t_test->p);
}

TEST_CASE("Several runs are corrected together, and measures that can't be compared are refused", "[evaluation]") {
  std::string qrels, first, second, third;
  for (int query = 0; query < 12; ++query) {
    const std::string id = std::to_string(query);
    qrels += id + " 0 a 1\n";
    first += id + " Q0 b 1 2 t\n" + id + " Q0 a 2 1 t\n";
    second += id + " Q0 a 1 2 t\n";
    third += id + (query < 6 ? " Q0 a 1 2 t\n" : " Q0 b 1 2 t\n");
  }
  EvaluationOptions options;
  options.measures = measures_named(std::string_view("map"));
  const RunComparison comparison = compare_runs(evaluate_texts({first, second, third}, qrels, options), {});
  const std::vector<RunDifference>& runs = comparison.measures[0].others;
  REQUIRE(runs.size() == 2);
  CHECK(runs[0].randomization.p == 2.0 / 4096);
  CHECK(runs[0].holm_randomization_p == 4.0 / 4096);
  CHECK(runs[1].randomization.p == 1);
  CHECK(runs[1].holm_randomization_p == 1);

  CHECK_THROWS_AS(compare_runs(evaluate_texts({first}, qrels, options), {}), InvalidArgument);
  CHECK_THROWS_AS(compare_runs(evaluate_texts({first, second}, qrels), {}), InvalidArgument);  // num_q isn't a mean
  const Evaluation apart = evaluate_texts({"1 Q0 a 1 1 t\n", "2 Q0 a 1 1 t\n"}, qrels, options);
  CHECK_THROWS_AS(compare_runs(apart, {}), InvalidArgument);
  ComparisonOptions complete;
  complete.complete = true;
  CHECK(compare_runs(apart, complete).queries == 12);
  CHECK(comparable_measures(default_measures()).size() == default_measures().size() - 4);
}

}  // namespace quern
