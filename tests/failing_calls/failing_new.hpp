#pragma once
#include <atomic>

/// An operator new that can be told to fail, and a pthread_create() that counts: for a program of its own, which links
/// failing_new.cpp.
namespace quern::testing {

/// Allocations until the one that fails; none does while it is not positive.
extern std::atomic<long> allocations_left;
/// Allocations that have not been freed.
extern std::atomic<long> allocations_alive;
extern std::atomic<int> threads_started;

/// While it lives, this thread's allocations are the test's own, and do not fail.
struct OwnWork {
  OwnWork();
  ~OwnWork();
};

}  // namespace quern::testing
