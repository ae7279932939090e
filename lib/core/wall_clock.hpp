#pragma once
#include <chrono>

namespace quern {

/// Measures durations; unaffected by changes to the system time.
using WallClock = std::chrono::steady_clock;

inline double us_since(WallClock::time_point begun) {
  return std::chrono::duration<double, std::micro>(WallClock::now() - begun).count();
}
inline double seconds_since(WallClock::time_point begun) {
  return std::chrono::duration<double>(WallClock::now() - begun).count();
}

/// Seconds that a call takes, including time spent waiting.
template <class What>
double wall_seconds(What what) {
  const auto begun = WallClock::now();
  what();
  return seconds_since(begun);
}

}  // namespace quern
