#pragma once
#include <tbb/task_arena.h>

#include <utility>

#include "quern/core/check_range.hpp"
#include "quern/core/own_errors.hpp"
#include "quern/core/resources.hpp"

/// How the library's public functions run: on the threads that they are given, and with the library's own exceptions.
namespace quern {

/// More would only take memory.
inline constexpr unsigned max_threads = 1024;

/// work() on at most `threads` threads, this one included: all parallel calls of oneTBB in it share them. Work of the
/// library is limited nowhere else. Throws InvalidArgument for a number that is not 1 to max_threads.
template <class Work>
decltype(auto) on_threads(unsigned threads, Work&& work) {
  check_range("threads", threads, 1, max_threads);
  // Within such a limit already, or the machine's own.
  if (tbb::this_task_arena::max_concurrency() == static_cast<int>(threads)) return std::forward<Work>(work)();
  tbb::task_arena arena(static_cast<int>(threads));
  return arena.execute(std::forward<Work>(work));
}

/// A stage: work() on the threads that it may use, with errors as with_own_errors() has them.
template <class Work>
decltype(auto) run_stage(const Resources& resources, Work&& work) {
  return with_own_errors([&]() -> decltype(auto) { return on_threads(resources.threads, std::forward<Work>(work)); });
}

}  // namespace quern
