#pragma once
#include <tbb/task_arena.h>

#include <mutex>

namespace quern {

/// work() with the mutex held, where work() may run parallel calls of oneTBB (as ExternalSort does when it sorts):
/// while it waits for them, this thread takes no other task of the caller's, which could want the mutex.
template <class Work>
void with_isolated_lock(std::mutex& mutex, Work&& work) {
  tbb::this_task_arena::isolate([&] {
    const std::lock_guard lock(mutex);
    work();
  });
}

}  // namespace quern
