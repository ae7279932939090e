#pragma once
#include <tbb/task_arena.h>

#include <utility>

#include "quern/core/check_range.hpp"
#include "quern/core/own_errors.hpp"
#include "quern/core/resources.hpp"

/// Runs the library's public functions on a limited number of threads and with the library's own exceptions.
namespace quern {

/// More threads would only take memory.
inline constexpr unsigned max_threads = 1024;

/// Calls work() on at most `threads` threads, this one included; all parallel calls of oneTBB in it share them. The
/// library limits threads nowhere else. Throws InvalidArgument unless `threads` is 1 to max_threads.
template <class Work>
decltype(auto) on_threads(unsigned threads, Work&& work) {
  check_range("threads", threads, 1, max_threads);
  // Already within such a limit, or the machine's own limit.
  if (tbb::this_task_arena::max_concurrency() == static_cast<int>(threads)) return std::forward<Work>(work)();
  tbb::task_arena arena(static_cast<int>(threads));
  return arena.execute(std::forward<Work>(work));
}

/// Calls work() on the threads of `resources`, with errors translated by with_own_errors().
template <class Work>
decltype(auto) run_stage(const Resources& resources, Work&& work) {
  return with_own_errors([&]() -> decltype(auto) { return on_threads(resources.threads, std::forward<Work>(work)); });
}

}  // namespace quern
