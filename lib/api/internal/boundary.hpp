#pragma once
#include <utility>

#include "quern/core/own_errors.hpp"

namespace quern::api {

/// In a handler: throws the exception at hand again as Error. What a caller's own function threw stays as it is.
[[noreturn]] void throw_api_error();

/// work(), whose exceptions come out as Error: around the body of every public function.
template <class Work>
decltype(auto) with_api_errors(Work&& work) {
  try {
    return with_own_errors(std::forward<Work>(work));
  } catch (...) {
    throw_api_error();
  }
}

}  // namespace quern::api
