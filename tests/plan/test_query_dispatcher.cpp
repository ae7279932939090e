#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "quern/core/error.hpp"
#include "quern/core/random.hpp"
#include "quern/plan/query_dispatcher.hpp"

#include "catch.hpp"

/// Streams on threads that simulate processors: no query is lost or answered twice, with any schedule and any failures.
namespace quern {
namespace {

using namespace std::chrono_literals;

/// Counts the answers to each query.
class Answers {
 public:
  explicit Answers(std::size_t queries) : times_(queries) {}

  void add(std::span<const WaitingQuery> queries) {
    for (const WaitingQuery& query : queries) ++times_.at(query.number);
  }
  bool each_once() const {
    return std::all_of(times_.begin(), times_.end(), [](const auto& times) { return times == 1; });
  }
  std::size_t count() const {
    std::size_t sum = 0;
    for (const auto& times : times_) sum += times;
    return sum;
  }

 private:
  std::vector<std::atomic<unsigned>> times_;
};

/// A worker that answers at once; throws from the `fails_at`th call on.
DispatchWorker worker(Processor processor, std::size_t most, Answers& answers, unsigned fails_at = 0) {
  auto calls = std::make_shared<unsigned>(0);
  return {processor, most, [&answers, calls, fails_at](std::span<const WaitingQuery> queries) {
            if (++*calls == fails_at) throw CudaError("the GPU is lost");
            answers.add(queries);
          }};
}

WaitingQuery query(std::uint64_t number, RandomBits& random) {
  WaitingQuery waiting_query;
  waiting_query.number = number;
  waiting_query.deadline_us = random.below(2) * 100.0;
  waiting_query.expected_cpu_us = 1 + random.below(20);
  waiting_query.expected_gpu_us = 1 + random.below(20);
  waiting_query.blocks = random.below(60000);
  waiting_query.missing_bytes = random.below(3);
  return waiting_query;
}

ScheduleOptions some_options() {
  ScheduleOptions options;
  options.cpu_threads = 2;
  options.gpu_batch_us = 5;
  return options;
}

}  // namespace

TEST_CASE("each query of a stream is answered once, by any schedule", "[schedule]") {
  for (const SchedulePolicy& policy : all_schedule_policies()) {
    INFO(policy.name);
    constexpr std::size_t queries = 3000;
    Answers answers(queries);
    RandomBits random(3);
    QueryDispatcher dispatcher(
        policy.make(some_options()),
        {worker(Processor::cpu, 8, answers), worker(Processor::cpu, 8, answers), worker(Processor::gpu, 50, answers)},
        100);
    // Submits some one by one, others together, at times more than may wait.
    std::vector<WaitingQuery> arrived;
    for (std::size_t i = 0; i < queries; i += arrived.size()) {
      arrived.resize(std::min<std::size_t>(queries - i, 1 + random.below(2) * random.below(300)));
      for (std::size_t j = 0; j < arrived.size(); ++j) arrived[j] = query(i + j, random);
      dispatcher.submit(arrived);
    }
    const DispatchFigures figures = dispatcher.finish();
    CHECK(answers.each_once());
    CHECK(figures.on_cpu + figures.on_gpu == queries);
    CHECK(figures.failures.empty());
    CHECK(figures.on_gpu <= 50 * figures.batches);
    if (policy.name == "cpu") CHECK(figures.on_gpu == 0);
    if (policy.name == "gpu") CHECK(figures.on_cpu == 0);
  }
}

TEST_CASE("if a worker fails, others answer its queries, including later ones", "[schedule]") {
  for (const SchedulePolicy& policy : all_schedule_policies()) {
    for (const Processor lost : {Processor::cpu, Processor::gpu}) {
      for (const unsigned fails_at : {1u, 3u}) {
        INFO(policy.name << ", " << (lost == Processor::cpu ? "cpu" : "gpu") << " fails at call " << fails_at);
        constexpr std::size_t queries = 500;
        Answers answers(queries);
        RandomBits random(fails_at);
        QueryDispatcher dispatcher(policy.make(some_options()),
                                   {worker(Processor::cpu, 8, answers, lost == Processor::cpu ? fails_at : 0),
                                    worker(Processor::gpu, 20, answers, lost == Processor::gpu ? fails_at : 0)},
                                   1000);
        std::vector<WaitingQuery> all;
        for (std::size_t i = 0; i < queries; ++i) all.push_back(query(i, random));
        dispatcher.submit(all);
        const DispatchFigures figures = dispatcher.finish();
        CHECK(answers.each_once());
        CHECK(figures.on_cpu + figures.on_gpu == queries);
        CHECK(figures.failures.size() <= 1);
        for (const std::string& failure : figures.failures) CHECK(failure == "the GPU is lost");
      }
    }
  }
}

TEST_CASE("if all workers fail, the last one's error is rethrown", "[schedule]") {
  Answers answers(1000);
  RandomBits random(1);
  QueryDispatcher dispatcher(schedule_policy_named("first").make(some_options()),
                             {worker(Processor::cpu, 1, answers, 5), worker(Processor::gpu, 10, answers, 1)}, 10);
  const auto all = [&] {
    for (std::size_t i = 0; i < 1000; ++i) dispatcher.submit(query(i, random));
    dispatcher.finish();
  };
  CHECK_THROWS_WITH(all(), "the GPU is lost");
  CHECK(answers.count() < 100);
}

TEST_CASE("submit blocks while too many queries wait", "[schedule]") {
  std::mutex gate;
  std::atomic<unsigned> submitted = 0;
  gate.lock();
  const DispatchWorker slow{Processor::cpu, 1,
                            [&](std::span<const WaitingQuery>) { const std::lock_guard pass(gate); }};
  QueryDispatcher dispatcher(schedule_policy_named("cpu").make({}), {slow}, 5);
  std::thread sender([&] {
    RandomBits random(2);
    for (unsigned i = 0; i < 20; ++i, ++submitted) dispatcher.submit(query(i, random));
  });
  while (submitted < 5) std::this_thread::yield();
  std::this_thread::sleep_for(20ms);
  CHECK(submitted <= 6);  // one is in progress
  gate.unlock();
  sender.join();
  CHECK(dispatcher.finish().on_cpu == 20);
}

TEST_CASE("queries that no worker takes end a stream with an error", "[schedule]") {
  Answers answers(3);
  RandomBits random(2);
  QueryDispatcher dispatcher(schedule_policy_named("gpu").make({}),
                             {worker(Processor::cpu, 1, answers), worker(Processor::cpu, 1, answers)}, 5);
  for (unsigned i = 0; i < 3; ++i) dispatcher.submit(query(i, random));
  CHECK_THROWS_WITH(dispatcher.finish(), Catch::Contains("without workers"));
  CHECK(answers.count() == 0);
}

TEST_CASE("a stream without queries and an abandoned one end", "[schedule]") {
  Answers answers(10);
  RandomBits random(2);
  {
    QueryDispatcher dispatcher(schedule_policy_named("first").make({}), {worker(Processor::cpu, 1, answers)}, 1);
    const DispatchFigures figures = dispatcher.finish();
    CHECK(figures.on_cpu == 0);
  }
  {
    QueryDispatcher dropped(schedule_policy_named("gpu").make({}), {worker(Processor::cpu, 1, answers)}, 10);
    for (unsigned i = 0; i < 5; ++i) dropped.submit(query(i, random));
  }
  CHECK(answers.count() == 0);
  CHECK_THROWS_AS(QueryDispatcher(schedule_policy_named("cpu").make({}), {}, 1), InvalidArgument);
}

TEST_CASE("arrival times use the dispatcher's clock", "[schedule]") {
  std::vector<double> arrivals_us;
  DispatchWorker noting{Processor::cpu, 1, [&](std::span<const WaitingQuery> queries) {
                          for (const WaitingQuery& waiting_query : queries)
                            arrivals_us.push_back(waiting_query.arrival_us);
                        }};
  QueryDispatcher dispatcher(schedule_policy_named("cpu").make({}), {noting}, 10);
  RandomBits random(2);
  const double before_us = dispatcher.now_us();
  dispatcher.submit(query(0, random));
  std::this_thread::sleep_for(2ms);
  dispatcher.submit(query(1, random));
  dispatcher.finish();
  const double after_us = dispatcher.now_us();
  REQUIRE(arrivals_us.size() == 2);
  CHECK(arrivals_us[0] >= before_us);
  CHECK(arrivals_us[1] >= arrivals_us[0] + 2000);
  CHECK(arrivals_us[1] <= after_us);
}

}  // namespace quern
