#pragma once
#include <tbb/task_arena.h>

#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace quern::gpu {

/// Threads that do the same work as the one that started them, if there is enough of it. The parallel work of all of
/// them is done by as many threads as parallel calls have where the object is made.
class HelperThreads {
 public:
  /// At most `most` helpers: with the one that makes the object, no more than the threads of parallel calls, but at
  /// least one. `work` is called once in each. If it
  /// throws, it must see to it that the others end.
  HelperThreads(std::size_t most, std::function<void()> work);
  /// Waits for all. Their errors are dropped unless join() was called.
  ~HelperThreads();
  HelperThreads(const HelperThreads&) = delete;
  HelperThreads& operator=(const HelperThreads&) = delete;

  /// Starts the helpers, unless it did before; fewer if the system has no threads left. For one thread.
  void start();
  /// Waits for all, and rethrows the first error.
  void join();

 private:
  void run();

  const std::size_t most_;
  const std::function<void()> work_;
  tbb::task_arena arena_;
  std::mutex mutex_;
  std::exception_ptr error_;
  std::vector<std::jthread> threads_;
};

}  // namespace quern::gpu
