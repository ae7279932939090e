#include "quern/gpu/worker/flight_control.hpp"

#include <algorithm>
#include <utility>

namespace quern::gpu {

unsigned FlightControl::take() {
  std::unique_lock lock(mutex_);
  const std::uint64_t ticket = next_ticket_++;
  auto free = flights_.end();
  changed_.wait(lock, [&] {
    if (ticket != served_) return false;
    free = std::find_if(flights_.begin(), flights_.end(), [](const State& flight) { return !flight.taken; });
    return free != flights_.end();
  });
  ++served_;
  *free = {};
  free->taken = true;
  free->thread = std::this_thread::get_id();
  changed_.notify_all();  // another flight may be free for the next one
  return static_cast<unsigned>(free - flights_.begin());
}

void FlightControl::give_back(unsigned flight) {
  const std::lock_guard lock(mutex_);
  flights_[flight] = {};
  changed_.notify_all();
}

void FlightControl::launched(unsigned flight) {
  flights_[flight].launch = ++launches_;
  flights_[flight].spoiled = false;
}

void FlightControl::wait_for_earlier(unsigned flight) {
  std::unique_lock lock(mutex_);
  const std::uint64_t own = flights_[flight].launch;
  changed_.wait(lock, [&] {
    return std::none_of(flights_.begin(), flights_.end(), [&](const State& other) {
      return other.launch > 0 && other.launch < own && other.thread != std::this_thread::get_id();
    });
  });
}

void FlightControl::checked(unsigned flight, bool sound) {
  const std::uint64_t own = std::exchange(flights_[flight].launch, 0);
  if (!sound)
    for (State& other : flights_) other.spoiled |= other.launch > own;
  changed_.notify_all();
}

}  // namespace quern::gpu
