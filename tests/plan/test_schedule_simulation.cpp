#include <cmath>
#include <numeric>

#include "quern/core/error.hpp"
#include "quern/plan/schedule_simulation.hpp"

#include "catch.hpp"

/// The virtual clock, compared with queueing theory and arithmetic.
namespace quern {
namespace {

std::vector<SimulatedQuery> stream(std::size_t count, double rate, std::uint64_t seed, double cpu_us) {
  std::vector<SimulatedQuery> queries(count);
  const std::vector<double> arrivals_us = poisson_arrivals(count, rate, seed);
  for (std::size_t i = 0; i < count; ++i) {
    queries[i].waiting.arrival_us = arrivals_us[i];
    queries[i].cpu_us = queries[i].waiting.expected_cpu_us = cpu_us;
  }
  return queries;
}

ScheduleFigures simulate(const std::vector<SimulatedQuery>& queries, const SimulatedMachine& machine,
                         std::string_view schedule = "cpu") {
  return simulate_schedule(queries, machine, *schedule_policy_named(schedule).make({}));
}

}  // namespace

TEST_CASE("arrivals are a Poisson process", "[schedule]") {
  const std::vector<double> arrivals_us = poisson_arrivals(200000, 1000, 3);
  CHECK(std::is_sorted(arrivals_us.begin(), arrivals_us.end()));
  CHECK(arrivals_us.back() / 200000 == Approx(1000).epsilon(0.01));  // four deviations are 0.9 %
  double squares = 0;
  for (std::size_t i = 1; i < arrivals_us.size(); ++i)
    squares += (arrivals_us[i] - arrivals_us[i - 1]) * (arrivals_us[i] - arrivals_us[i - 1]);
  CHECK(squares / 199999 == Approx(2e6).epsilon(0.03));  // twice the squared mean, as for exponential times
  CHECK(poisson_arrivals(5, 1000, 3) == std::vector<double>(arrivals_us.begin(), arrivals_us.begin() + 5));
  CHECK(poisson_arrivals(5, 1000, 4) != poisson_arrivals(5, 1000, 3));
}

TEST_CASE("mean responses are those of queueing theory", "[schedule]") {
  // Random arrivals and fixed or exponential durations of 100 us, by Pollaczek and Khinchine's formula. Over 400,000
  // queries, the mean of the longest waits here deviates by less than 3 %.
  for (const double load : {0.5, 0.8}) {
    std::vector<SimulatedQuery> queries = stream(400000, 1e4 * load, 11, 100);
    const double waits_us = load / (1 - load) * 100;
    CHECK(simulate(queries, {}).response.mean_us == Approx(100 + waits_us / 2).epsilon(0.03));
    const std::vector<double> durations_us = poisson_arrivals(queries.size(), 1e4, 12);
    for (std::size_t i = 0; i < queries.size(); ++i)
      queries[i].cpu_us = durations_us[i] - (i == 0 ? 0 : durations_us[i - 1]);
    const ScheduleFigures figures = simulate(queries, {});
    CHECK(figures.response.mean_us == Approx(100 + waits_us).epsilon(0.06));
    CHECK(figures.cpu_busy_share == Approx(load).epsilon(0.02));
  }
}

TEST_CASE("more threads do not make queries wait longer", "[schedule]") {
  const std::vector<SimulatedQuery> queries = stream(20000, 9000, 5, 100);
  double last_us = std::numeric_limits<double>::infinity();
  for (const unsigned threads : {1u, 2u, 4u, 8u}) {
    SimulatedMachine machine;
    machine.cpu_threads = threads;
    const double mean_us = simulate(queries, machine).response.mean_us;
    CHECK(mean_us < last_us);
    CHECK(mean_us >= 100);
    last_us = mean_us;
  }
}

TEST_CASE("a GPU takes all waiting queries, one batch after the other", "[schedule]") {
  std::vector<SimulatedQuery> queries(5);
  const double arrivals_us[] = {0, 1, 2, 3, 1000};
  for (std::size_t i = 0; i < queries.size(); ++i) {
    queries[i].waiting.arrival_us = arrivals_us[i];
    queries[i].waiting.deadline_us = 132;
    queries[i].gpu_us = 10;
  }
  SimulatedMachine machine;
  machine.gpu_latency = BatchOverhead({{1, 50.0}});
  machine.max_batch = 2;
  const ScheduleFigures figures = simulate(queries, machine, "gpu");
  // 0 to 60: the first; 60 to 130: the next two; 130 to 190: the fourth; 1000 to 1060: the last.
  CHECK(figures.batches == 4);
  CHECK(figures.on_gpu == 5);
  CHECK(figures.response.mean_us == Approx((60 + 129 + 128 + 187 + 60) / 5.0));
  CHECK(figures.response.max_us == Approx(187));
  CHECK(figures.missed == 1);
  CHECK(figures.seconds == Approx(1060e-6));
  CHECK(figures.gpu_busy_share == Approx(50.0 / 1060));
  CHECK(figures.cpu_busy_share == 0);
  // Queries that arrive at the same time share a batch.
  for (SimulatedQuery& query : queries) query.waiting.arrival_us = 7;
  machine.max_batch = 100;
  CHECK(simulate(queries, machine, "gpu").batches == 1);
}

TEST_CASE("a GPU that is given several batches at a time works on one after the other", "[schedule]") {
  std::vector<SimulatedQuery> queries(4);
  const double arrivals_us[] = {0, 20, 30, 40};
  for (std::size_t i = 0; i < queries.size(); ++i) {
    queries[i].waiting.arrival_us = arrivals_us[i];
    queries[i].gpu_us = 10;
  }
  SimulatedMachine machine;
  machine.gpu_latency = BatchOverhead({{1, 50.0}});
  machine.max_batch = 9;
  machine.gpu_batches = 2;
  // 0 to 10: the first, answered at 60; 20 to 30: the second, at 80; 60, when a batch is free, to 80: the others.
  const ScheduleFigures figures = simulate(queries, machine, "gpu");
  CHECK(figures.batches == 3);
  CHECK(figures.response.mean_us == Approx((60 + 60 + 100 + 90) / 4.0));
  CHECK(figures.gpu_busy_share == Approx(40.0 / 130));
  // With a fixed time of 5 us, the second waits for the first: 0 to 100, 100 to 110 and, from 105 on, 110 to 130.
  queries[0].gpu_us = 100;
  machine.gpu_latency = BatchOverhead({{1, 5.0}});
  CHECK(simulate(queries, machine, "gpu").response.mean_us == Approx((105 + 95 + 105 + 95) / 4.0));
  // The second GPU is idle, and takes the queries that arrive while the first one works.
  machine.gpus = 2;
  CHECK(simulate(queries, machine, "gpu").response.mean_us == Approx((105 + 15 + 15 + 15) / 4.0));
  machine.gpu_batches = 0;
  CHECK_THROWS_AS(simulate(queries, machine, "gpu"), InvalidArgument);
}

TEST_CASE("responses include the start-up time of idle processors and the overhead by batch size", "[schedule]") {
  std::vector<SimulatedQuery> queries(3);
  const double arrivals_us[] = {0, 1, 500};
  for (std::size_t i = 0; i < queries.size(); ++i) {
    queries[i].waiting.arrival_us = arrivals_us[i];
    queries[i].gpu_us = queries[i].cpu_us = 10;
  }
  SimulatedMachine machine;
  machine.hand_over_us = 3;
  // A thread that was not idle takes the second query.
  CHECK(simulate(queries, machine, "cpu").response.mean_us == Approx((13 + 22 + 13) / 3.0));
  machine.max_batch = 9;
  machine.gpu_overhead = BatchOverhead({{1, 20}, {3, 30}});
  CHECK(simulate(queries, machine, "gpu").response.mean_us == Approx((33 + 62 + 33) / 3.0));
  queries[1].waiting.arrival_us = 0;
  CHECK(simulate(queries, machine, "gpu").response.mean_us == Approx((48 + 48 + 33) / 3.0));
  machine.hand_over_us = -1;
  CHECK_THROWS_AS(simulate(queries, machine), InvalidArgument);
}

TEST_CASE("a stream without queries, and one without a processor for them", "[schedule]") {
  const ScheduleFigures nothing = simulate({}, {});
  CHECK(nothing.queries == 0);
  CHECK(nothing.seconds == 0);
  CHECK(nothing.response.max_us == 0);
  SimulatedMachine without_gpu;
  without_gpu.gpus = 0;
  CHECK_THROWS_WITH(simulate(stream(3, 10, 1, 1), without_gpu, "gpu"), Catch::Contains("the machine lacks"));
  SimulatedMachine without_cpu;
  without_cpu.cpu_threads = 0;
  CHECK_THROWS_AS(simulate(stream(3, 10, 1, 1), without_cpu, "cpu"), InvalidArgument);
}

TEST_CASE("impossible streams and machines are refused", "[schedule]") {
  std::vector<SimulatedQuery> queries = stream(3, 10, 1, 1);
  std::swap(queries[0], queries[1]);
  CHECK_THROWS_WITH(simulate(queries, {}), Catch::Contains("order of arrival"));
  for (double SimulatedQuery::*time : {&SimulatedQuery::cpu_us, &SimulatedQuery::gpu_us}) {
    for (const double wrong : {-1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
      queries = stream(3, 10, 1, 1);
      queries[1].*time = wrong;
      CHECK_THROWS_AS(simulate(queries, {}), InvalidArgument);
    }
  }
  SimulatedMachine machine;
  machine.max_batch = 0;
  CHECK_THROWS_AS(simulate(stream(3, 10, 1, 1), machine), InvalidArgument);
}

TEST_CASE("the highest rate within an allowed share of missed deadlines is found within 1 %", "[schedule]") {
  unsigned calls = 0;
  const auto misses_from = [&calls](double limit) {
    return [&calls, limit](double rate) {
      ++calls;
      return rate < limit ? 0.0 : 0.5;
    };
  };
  for (const double limit : {0.2, 1.0, 777.0, 3e6}) {
    calls = 0;
    const double found = highest_rate(misses_from(limit), 0.1, 0.1, 1e7);
    CHECK(found < limit);
    CHECK(found > limit / 1.011);
    CHECK(calls < 45);
  }
  CHECK(highest_rate(misses_from(0.05), 0.1, 0.1, 1e7) == 0);
  CHECK(highest_rate(misses_from(1e9), 0.1, 0.1, 1e7) == 1e7);
  CHECK(highest_rate(misses_from(5), 0.6, 0.1, 1e7) == 1e7);  // half may be missed
}

}  // namespace quern
