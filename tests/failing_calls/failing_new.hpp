#pragma once
#include <atomic>

/// An operator new that fails on request, and a pthread_create() that counts, for a separate program that links
/// failing_new.cpp.
namespace quern::testing {

/// Which allocation will fail, counted from now, the next one being 1; none fails while this is not positive.
extern std::atomic<long> allocations_left;
/// Allocations that have not been freed.
extern std::atomic<long> allocations_alive;
extern std::atomic<int> threads_started;

/// During its lifetime, this thread's allocations belong to the test and do not fail.
struct OwnWork {
  OwnWork();
  ~OwnWork();
};

}  // namespace quern::testing
