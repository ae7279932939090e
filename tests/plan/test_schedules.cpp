#include <algorithm>
#include <cmath>
#include <map>

#include "quern/core/error.hpp"
#include "quern/core/random.hpp"
#include "quern/plan/schedule_simulation.hpp"

#include "catch.hpp"

/// The assignment of queries to processors, by hand and on random streams with a virtual clock.
namespace quern {
namespace {

using Numbers = std::vector<std::uint64_t>;

/// A query with its arrival time and expected times on both devices.
WaitingQuery waiting(std::uint64_t number, double cpu_us, double gpu_us, double arrival_us = 0,
                     double deadline_us = 0) {
  WaitingQuery query;
  query.number = number;
  query.arrival_us = arrival_us;
  query.deadline_us = deadline_us;
  query.expected_cpu_us = cpu_us;
  query.expected_gpu_us = gpu_us;
  return query;
}

Numbers take(ScheduleQueues& schedule, Processor processor, std::size_t most = 1, double now_us = 0) {
  Numbers numbers;
  for (const WaitingQuery& query : schedule.take(processor, now_us, most)) numbers.push_back(query.number);
  return numbers;
}

constexpr Processor cpu = Processor::cpu, gpu = Processor::gpu;

std::unique_ptr<ScheduleQueues> make(std::string_view name, const ScheduleOptions& options = {}) {
  return schedule_policy_named(name).make(options);
}

}  // namespace

TEST_CASE("one kind of processor answers all queries, in the order of arrival", "[schedule]") {
  for (const auto& [name, own, other] : {std::tuple("cpu", cpu, gpu), std::tuple("gpu", gpu, cpu)}) {
    const auto schedule = make(name);
    for (std::uint64_t i = 0; i < 5; ++i) schedule->add(waiting(i, 5, 5));
    CHECK(take(*schedule, other, 3).empty());
    CHECK(take(*schedule, own, own == cpu ? 1 : 3) == (own == cpu ? Numbers{0} : Numbers{0, 1, 2}));
    CHECK(schedule->size() == (own == cpu ? 4u : 2u));
  }
}

TEST_CASE("queries with fewer blocks than the threshold go to GPUs", "[schedule]") {
  ScheduleOptions options;
  options.max_blocks = 100;
  const auto schedule = make("lbd", options);
  for (const std::uint64_t blocks : {99, 100, 0, 5000}) {
    WaitingQuery query = waiting(blocks, 1, 1);
    query.blocks = blocks;
    schedule->add(query);
  }
  CHECK(take(*schedule, gpu, 9) == Numbers{99, 0});
  CHECK(take(*schedule, cpu) == Numbers{100});
  CHECK(take(*schedule, cpu) == Numbers{5000});
}

TEST_CASE("half of the queries go to either device at random, the same for the same seed", "[schedule]") {
  std::map<std::uint64_t, Numbers> by_seed;
  for (const std::uint64_t seed : {1, 1, 2}) {
    ScheduleOptions options;
    options.seed = seed;
    const auto schedule = make("sd", options);
    for (std::uint64_t i = 0; i < 1000; ++i) schedule->add(waiting(i, 1, 1));
    const Numbers taken = take(*schedule, gpu, 1000);
    CHECK(taken.size() > 400);
    CHECK(taken.size() < 600);
    if (by_seed.contains(seed)) CHECK(by_seed[seed] == taken);
    by_seed[seed] = taken;
  }
  CHECK(by_seed[1] != by_seed[2]);
}

TEST_CASE("the faster device answers while the other is idle", "[schedule]") {
  ScheduleOptions options;
  options.gpu_batch_us = 10;
  const auto schedule = make("better", options);
  schedule->add(waiting(0, 20, 5));  // 15 on the GPU
  schedule->add(waiting(1, 14, 5));  // better on the CPU
  schedule->add(waiting(2, 100, 5));
  CHECK(take(*schedule, cpu).empty());
  CHECK(take(*schedule, gpu, 9) == Numbers{0});
  CHECK(take(*schedule, cpu).empty());
  schedule->ended(gpu, 0);
  CHECK(take(*schedule, gpu, 9).empty());
  CHECK(take(*schedule, cpu) == Numbers{1});
  schedule->ended(cpu, 0);
  CHECK(take(*schedule, gpu, 9) == Numbers{2});
}

TEST_CASE("of three queues, a processor takes its own first, then the shared one, then the other's", "[schedule]") {
  const auto schedule = make("ding");
  schedule->add(waiting(0, 100, 10));  // the GPU's: 100 to 1,000
  schedule->add(waiting(1, 10, 11));   // either's
  schedule->add(waiting(2, 10, 100));  // the CPU's
  schedule->add(waiting(3, 11, 10));   // either's
  schedule->add(waiting(4, 50, 10));   // the GPU's, on which the CPU loses less
  CHECK(take(*schedule, cpu) == Numbers{2});
  CHECK(take(*schedule, cpu) == Numbers{1});
  CHECK(take(*schedule, cpu) == Numbers{3});
  CHECK(take(*schedule, cpu) == Numbers{4});  // stolen: it takes five times as long, the other ten times
  CHECK(take(*schedule, cpu) == Numbers{0});
  CHECK(take(*schedule, cpu).empty());
  // A GPU fills its batch with its own and either's, and steals one at a time.
  for (const WaitingQuery& query : {waiting(5, 10, 100), waiting(6, 10, 50), waiting(7, 100, 10), waiting(8, 10, 10)})
    schedule->add(query);
  CHECK(take(*schedule, gpu, 9) == Numbers{7, 8});
  CHECK(take(*schedule, gpu, 9) == Numbers{6});
  CHECK(take(*schedule, gpu, 9) == Numbers{5});
}

TEST_CASE("in its own queue, a processor prefers queries that are short, or slow on the other device", "[schedule]") {
  const auto schedule = make("ding");
  schedule->add(waiting(0, 10, 20));   // 10 · 10/20 = 5
  schedule->add(waiting(1, 8, 10));    // 6.4
  schedule->add(waiting(2, 20, 200));  // 2
  CHECK(take(*schedule, cpu) == Numbers{2});
  CHECK(take(*schedule, cpu) == Numbers{0});
  CHECK(take(*schedule, cpu) == Numbers{1});
  // 5 · (1 - 40/100) = 3 is less than 4 · (1 - 0/100).
  schedule->add(waiting(3, 10, 20, 0, 100));
  schedule->add(waiting(4, 8, 16, 40, 100));
  CHECK(take(*schedule, cpu, 1, 40) == Numbers{3});
  CHECK(take(*schedule, cpu, 1, 40) == Numbers{4});
}

TEST_CASE("a query that has waited half of its allowed time goes first, to its faster processor", "[schedule]") {
  const auto schedule = make("ding");
  schedule->add(waiting(0, 1, 2, 0, 1000));
  schedule->add(waiting(1, 90, 100, 10, 200));  // either's; the CPU is faster
  schedule->add(waiting(2, 80, 100, 0, 400));
  CHECK(take(*schedule, gpu, 1, 105) == Numbers{1});  // nothing is its own: either's
  schedule->add(waiting(1, 90, 100, 10, 200));
  CHECK(take(*schedule, cpu, 1, 105) == Numbers{0});  // no query has waited for long
  schedule->add(waiting(0, 1, 2, 0, 1000));
  CHECK(take(*schedule, cpu, 1, 110) == Numbers{1});  // half of 200
  CHECK(take(*schedule, cpu, 1, 110) == Numbers{0});
  CHECK(take(*schedule, cpu, 1, 110) == Numbers{2});
}

TEST_CASE("GPUs take their share of the costs, first from queries whose lists are resident", "[schedule]") {
  ScheduleOptions options;
  options.gpu_share = 0.5;
  const auto schedule = make("share", options);
  for (const std::uint64_t missing : {500, 0, 300, 100}) {
    WaitingQuery query = waiting(missing, 10, 1);
    query.missing_bytes = missing;
    schedule->add(query);
  }
  CHECK(take(*schedule, gpu, 9) == Numbers{0, 100});  // 20 of 40 us
  CHECK(take(*schedule, cpu) == Numbers{500});
  CHECK(take(*schedule, gpu, 9) == Numbers{300});  // at the end, each steals
  CHECK(take(*schedule, cpu).empty());
}

TEST_CASE("each query goes where it is predicted to finish first, after the queries that wait there", "[schedule]") {
  ScheduleOptions options;
  options.gpu_batches = 1;
  options.gpu_batch_us = 50;
  const auto schedule = make("first", options);
  schedule->add(waiting(0, 20, 1));        // 20 before 51
  CHECK(take(*schedule, gpu, 9).empty());  // it would not end sooner
  CHECK(take(*schedule, cpu) == Numbers{0});
  schedule->add(waiting(1, 20, 1));  // 20 + 20 before 51
  schedule->add(waiting(2, 20, 1));  // 60 on the CPU
  schedule->add(waiting(3, 500, 1));
  CHECK(take(*schedule, gpu, 9) == Numbers{2, 3});
  CHECK(take(*schedule, cpu) == Numbers{1});
  schedule->ended(cpu, 0);
  schedule->ended(gpu, 0);
  // The CPU is late: an idle GPU takes over the queries that would wait longest.
  for (std::uint64_t i = 10; i < 14; ++i) schedule->add(waiting(i, 15, 200));
  CHECK(schedule->size() == 4);
  CHECK(take(*schedule, cpu) == Numbers{10});
  CHECK(take(*schedule, gpu, 9, 0).empty());
  schedule->add(waiting(14, 300, 240));
  CHECK(take(*schedule, gpu, 9) == Numbers{14});
}

TEST_CASE("an idle GPU takes over the queries that it will finish sooner", "[schedule]") {
  const auto schedule = make("first");
  schedule->add(waiting(0, 5000, 1000));
  CHECK(take(*schedule, gpu, 9) == Numbers{0});
  for (std::uint64_t i = 1; i < 9; ++i) schedule->add(waiting(i, 100, 90));  // on the CPU by 800
  CHECK(take(*schedule, cpu) == Numbers{1});
  schedule->ended(gpu, 5);  // long before expected
  // The last at 95 instead of 800, at 185 instead of 700, 275 and 600, 365 and 500; the next at 455 and not 400.
  CHECK(take(*schedule, gpu, 9, 5) == Numbers{8, 7, 6, 5});
  CHECK(take(*schedule, cpu, 1, 100) == Numbers{2});
}

TEST_CASE("a GPU with several batches at a time is expected to work on one while the next is prepared", "[schedule]") {
  ScheduleOptions options;
  options.gpu_batches = 2;
  options.gpu_batch_us = 50;
  const auto schedule = make("first", options);
  const auto goes_to_gpu = [&](std::uint64_t number, double cpu_us, double now_us) {
    schedule->add(waiting(number, cpu_us, 30, now_us));
    const bool goes = take(*schedule, gpu, 9, now_us) == Numbers{number};
    if (!goes) CHECK(take(*schedule, cpu, 1, now_us) == Numbers{number});
    return goes;
  };
  CHECK(goes_to_gpu(0, 81, 0));         // 80 on the GPU
  CHECK(goes_to_gpu(1, 111, 0));        // 110: its 50 us pass while it waits for the other one
  CHECK_FALSE(goes_to_gpu(2, 159, 0));  // 160: a third one begins at 80
  schedule->ended(cpu, 0);
  // The first batch ends after 100 us instead of 80, which delays the second one as much.
  schedule->ended(gpu, 100);
  CHECK(goes_to_gpu(3, 81, 100));  // at 180 of the GPU
  schedule->ended(gpu, 130);
  schedule->ended(gpu, 131);  // 49 us before expected
  CHECK(goes_to_gpu(4, 81, 131));
  schedule->ended(gpu, 211);
}

TEST_CASE("a CPU thread takes several queries if many wait, and leaves as many for each other thread", "[schedule]") {
  for (const char* name : {"first", "cpu"}) {
    INFO(name);
    ScheduleOptions options;
    options.cpu_threads = 4;
    options.gpus = 0;
    const auto schedule = make(name, options);
    for (std::uint64_t i = 0; i < 40; ++i) schedule->add(waiting(i, 10, 10));
    CHECK(take(*schedule, cpu, 1) == Numbers{0});
    CHECK(take(*schedule, cpu, 16) == Numbers{1, 2, 3, 4});  // 39 / 8
    CHECK(take(*schedule, cpu, 3) == Numbers{5, 6, 7});
    std::size_t left = 32;
    while (left > 0) {
      const std::size_t taken = take(*schedule, cpu, 16).size();
      REQUIRE(taken >= 1);
      CHECK(taken <= std::max<std::size_t>(1, left / 8));
      left -= taken;
    }
  }
}

TEST_CASE("each query is answered once, by any schedule on any machine", "[schedule]") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    RandomBits random(seed);
    SimulatedMachine machine;
    machine.cpu_threads = 1 + static_cast<unsigned>(random.below(4));
    machine.gpus = 1 + static_cast<unsigned>(random.below(2));
    const double batch_us = random.below(2) == 0 ? 0 : 50 * random.unit();
    machine.gpu_latency = BatchOverhead({{1, batch_us}});
    machine.max_batch = 1 + random.below(20);
    machine.gpu_batches = 1 + static_cast<unsigned>(random.below(3));
    std::vector<SimulatedQuery> queries(random.below(200));
    double now_us = 0;
    for (SimulatedQuery& query : queries) {
      if (random.below(3) > 0) now_us += std::floor(20 * random.unit());
      query.waiting = waiting(0, std::floor(40 * random.unit()), std::floor(10 * random.unit()), now_us,
                              random.below(3) == 0 ? 0 : 100 * random.unit());
      query.waiting.blocks = random.below(60000);
      query.waiting.missing_bytes = random.below(3) * 100;
      query.cpu_us = query.waiting.expected_cpu_us * (0.5 + random.unit());
      query.gpu_us = query.waiting.expected_gpu_us * (0.5 + random.unit());
    }
    for (const SchedulePolicy& policy : all_schedule_policies()) {
      INFO(policy.name << ", seed " << seed);
      ScheduleOptions options;
      options.cpu_threads = machine.cpu_threads;
      options.gpus = machine.gpus;
      options.gpu_batch_us = batch_us;
      options.gpu_batches = machine.gpu_batches;
      options.seed = seed;
      const auto schedule = policy.make(options);
      const ScheduleFigures figures = simulate_schedule(queries, machine, *schedule);
      CHECK(schedule->size() == 0);
      CHECK(figures.on_cpu + figures.on_gpu == queries.size());
      CHECK(figures.batches <= figures.on_gpu);
      CHECK(figures.on_gpu <= figures.batches * machine.max_batch);
      CHECK(figures.cpu_busy_share <= 1 + 1e-9);
      CHECK(figures.gpu_busy_share <= 1 + 1e-9);
      const auto again = policy.make(options);
      const ScheduleFigures same = simulate_schedule(queries, machine, *again);
      CHECK(same.response.mean_us == figures.response.mean_us);
      CHECK(same.missed == figures.missed);
    }
  }
}

TEST_CASE("no schedule that steals leaves a processor idle while queries wait", "[schedule]") {
  for (const char* name : {"ding", "share"}) {
    RandomBits random(7);
    const auto schedule = make(name);
    std::size_t waits = 0;
    for (unsigned step = 0; step < 5000; ++step) {
      INFO(name << " " << step);
      if (random.below(2) == 0) {
        schedule->add(waiting(step, 1 + 100 * random.unit(), 1 + 100 * random.unit(), step, random.below(2) * 300.0));
        ++waits;
      } else {
        const Numbers taken = take(*schedule, random.below(2) == 0 ? cpu : gpu, 1 + random.below(5), step);
        CHECK(taken.empty() == (waits == 0));
        waits -= taken.size();
      }
      REQUIRE(schedule->size() == waits);
    }
  }
}

}  // namespace quern
