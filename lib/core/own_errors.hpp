#pragma once
#include <utility>

namespace quern {

/// In a handler: rethrows the current exception as one of the library's own (error.hpp). Failed allocations become
/// OutOfMemory, system errors IoError, and errors of the program or its libraries Error. The library's own exceptions,
/// and those that only a caller's function can throw (such as std::runtime_error), pass unchanged.
[[noreturn]] void throw_own_error();

/// Calls work() and translates exceptions of the standard library into the library's own.
template <class Work>
decltype(auto) with_own_errors(Work&& work) {
  try {
    return std::forward<Work>(work)();
  } catch (...) {
    throw_own_error();
  }
}

}  // namespace quern
