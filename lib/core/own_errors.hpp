#pragma once
#include <utility>

namespace quern {

/// In a handler: throws the exception at hand again as one of the library's own (error.hpp). Memory that can't be had
/// becomes OutOfMemory, refusals of the operating system become IoError, and errors of the program or of the libraries
/// that it uses become Error. The library's own, and std::runtime_error and others that only a caller's function can
/// have thrown, stay as they are.
[[noreturn]] void throw_own_error();

/// work(), from which exceptions of the standard library come as the library's own.
template <class Work>
decltype(auto) with_own_errors(Work&& work) {
  try {
    return std::forward<Work>(work)();
  } catch (...) {
    throw_own_error();
  }
}

}  // namespace quern
