#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "quern/core/random.hpp"
#include "quern/gpu/worker/worker_pool.hpp"

#include "catch.hpp"

/// Threads that share the flights of a simulated GPU.
namespace quern {
namespace {

using gpu::FlightControl;
using namespace std::chrono_literals;

constexpr unsigned num_flights = 2;

/// Launches a batch in a flight. Returns the number of the launch, from 1.
std::uint64_t launch(FlightControl& control, const FlightControl::Flight& flight, std::uint64_t& launches) {
  const auto locked = control.lock();
  control.launched(flight.number());
  return ++launches;
}

void check(FlightControl& control, const FlightControl::Flight& flight, bool sound) {
  const auto locked = control.lock();
  control.checked(flight.number(), sound);
}

bool is_spoiled(FlightControl& control, const FlightControl::Flight& flight) {
  const auto locked = control.lock();
  return control.is_spoiled(flight.number());
}

}  // namespace

TEST_CASE("each thread gets a flight, and no two threads the same one", "[flight_control]") {
  FlightControl control(num_flights);
  std::atomic<unsigned> users[num_flights] = {}, most = 0, turns = 0;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 5; ++t)
    threads.emplace_back([&] {
      for (unsigned i = 0; i < 200; ++i) {
        const FlightControl::Flight flight(control);
        if (++users[flight.number()] > 1) most = 2;
        ++turns;
        --users[flight.number()];
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(most == 0);
  CHECK(turns == 1000);
}

TEST_CASE("batches are checked in the order in which they were launched", "[flight_control]") {
  FlightControl control(3);
  std::uint64_t launches = 0;
  std::vector<std::uint64_t> checked;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      RandomBits random(t);
      for (unsigned i = 0; i < 100; ++i) {
        const FlightControl::Flight flight(control);
        const std::uint64_t launched = launch(control, flight, launches);
        std::this_thread::sleep_for(random.below(50) * 1us);
        control.wait_for_earlier(flight.number());
        const auto locked = control.lock();
        checked.push_back(launched);
        control.checked(flight.number(), true);
      }
    });
  for (std::thread& thread : threads) thread.join();
  REQUIRE(checked.size() == 400);
  CHECK(std::is_sorted(checked.begin(), checked.end()));
}

TEST_CASE("a bad batch invalidates the batches launched after it until they are launched again", "[flight_control]") {
  FlightControl control(3);
  std::uint64_t launches = 0;
  const FlightControl::Flight before(control), damaged(control), after(control);
  for (const FlightControl::Flight* flight : {&before, &damaged, &after}) launch(control, *flight, launches);
  check(control, damaged, false);
  CHECK(!is_spoiled(control, before));
  CHECK(!is_spoiled(control, damaged));
  CHECK(is_spoiled(control, after));
  check(control, before, true);
  control.wait_for_earlier(after.number());
  check(control, after, true);
  CHECK(is_spoiled(control, after));
  launch(control, after, launches);
  CHECK(!is_spoiled(control, after));
  control.wait_for_earlier(after.number());
}

TEST_CASE("a flight that is returned without checking its batch blocks no thread", "[flight_control]") {
  FlightControl control(num_flights);
  std::uint64_t launches = 0;
  std::atomic<unsigned> step = 0;
  std::thread thread([&] {
    const FlightControl::Flight first(control);
    launch(control, first, launches);
    step = 1;
    while (step < 2) std::this_thread::sleep_for(10us);
  });
  while (step < 1) std::this_thread::sleep_for(10us);
  const FlightControl::Flight second(control);
  launch(control, second, launches);
  step = 2;
  control.wait_for_earlier(second.number());
  thread.join();
}

TEST_CASE("a thread does not wait for its own flights", "[flight_control]") {
  FlightControl control(num_flights);
  std::uint64_t launches = 0;
  const FlightControl::Flight first(control), second(control);
  launch(control, first, launches);
  launch(control, second, launches);
  launch(control, first, launches);  // again, so it is the later one
  control.wait_for_earlier(first.number());
  check(control, first, true);
  control.wait_for_earlier(second.number());
}

}  // namespace quern
