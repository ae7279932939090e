#include <atomic>
#include <stdexcept>

#include "quern/core/job_pipeline.hpp"
#include "quern/core/resources.hpp"

#include "catch.hpp"

using namespace quern;

namespace {

/// Counts existing and created instances.
struct CountedJob {
  struct Counts {
    std::atomic<int> alive = 0, made = 0;
  };
  explicit CountedJob(Counts& all) : counts(all) {
    ++counts.alive;
    ++counts.made;
  }
  ~CountedJob() { --counts.alive; }

  Counts& counts;
  int number = 0, square = 0;
};

}  // namespace

TEST_CASE("Jobs finish in the order of reading, and are reused", "[core][threads]") {
  for (const unsigned threads : {1u, 4u}) {
    for (const std::size_t in_flight : {1, 3, 100}) {
      CountedJob::Counts counts;
      int next = 0;
      std::vector<int> squares;
      on_threads(threads, [&] {
        run_jobs(
            in_flight, [&] { return std::make_unique<CountedJob>(counts); },
            [&](CountedJob& job) {
              job.number = next++;
              return job.number < 500;
            },
            [](CountedJob& job) { job.square = job.number * job.number; },
            [&](CountedJob& job) { squares.push_back(job.square); });
      });
      REQUIRE(squares.size() == 500);
      for (int i = 0; i < 500; ++i) REQUIRE(squares[static_cast<std::size_t>(i)] == i * i);
      CHECK(counts.made <= static_cast<int>(in_flight));
      CHECK(counts.alive == 0);
    }
  }
}

TEST_CASE("No job leaks when a step throws", "[core][threads]") {
  for (int step = 0; step < 3; ++step) {
    for (const int at : {0, 1, 40}) {
      CountedJob::Counts counts;
      int next = 0;
      const auto fail = [&](int in_step, const CountedJob& job) {
        if (in_step == step && job.number == at) throw std::runtime_error("a step");
      };
      const auto run = [&] {
        run_jobs(
            4, [&] { return std::make_unique<CountedJob>(counts); },
            [&](CountedJob& job) {
              job.number = next++;
              fail(0, job);
              return job.number < 500;
            },
            [&](CountedJob& job) { fail(1, job); }, [&](CountedJob& job) { fail(2, job); });
      };
      INFO("step " << step << ", job " << at);
      CHECK_THROWS_AS(on_threads(3, run), std::runtime_error);
      CHECK(counts.made > 0);
      CHECK(counts.alive == 0);
    }
  }
}
