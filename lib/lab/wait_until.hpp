#pragma once
#include <chrono>
#include <thread>

#include "quern/core/wall_clock.hpp"

namespace quern {

/// Returns as soon after `time` as a thread can that keeps its core busy for the last 200 microseconds: sleeping alone
/// is too coarse.
inline void wait_until(WallClock::time_point time) {
  constexpr auto coarse = std::chrono::microseconds(200);
  if (time - WallClock::now() > coarse) std::this_thread::sleep_until(time - coarse);
  while (WallClock::now() < time) std::this_thread::yield();
}

}  // namespace quern
