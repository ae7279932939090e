#include <chrono>
#include <stdexcept>
#include <thread>

#include "quern/gpu/worker/gpu_worker.hpp"

#include "catch.hpp"

/// The host's working time, without waits.
namespace quern {

TEST_CASE("waiting is not counted as work, even if it ends with an error", "[gpu_pipeline]") {
  using namespace std::chrono_literals;
  const auto begun = WallClock::now();
  gpu::WorkClock clock;
  clock.start();
  clock.wait_for([] { std::this_thread::sleep_for(20ms); });
  CHECK_THROWS_AS(clock.wait_for([] {
    std::this_thread::sleep_for(10ms);
    throw std::runtime_error("it failed");
  }),
                  std::runtime_error);
  std::this_thread::sleep_for(5ms);  // stands for work
  const double work = clock.us();
  CHECK(work >= 5000);
  CHECK(work <= us_since(begun) - 30000);
  clock.start();
  CHECK(clock.us() <= us_since(begun) - 35000);
}

}  // namespace quern
