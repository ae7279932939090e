#pragma once
#include <ctime>

namespace quern {

/// The processor time that a call takes in this thread: what else runs on the machine isn't counted, other than by the
/// caches and the clock rate that it leaves.
template <class What>
double seconds_of(What what) {
  const auto now = [] {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  const double start = now();
  what();
  return now() - start;
}

/// Keeps the compiler from leaving out what made the values that `values` points at.
template <class Value>
void keep(const Value* values) {
  asm volatile("" : : "r"(values) : "memory");
}

}  // namespace quern
