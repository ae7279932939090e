#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "quern/core/error.hpp"

namespace quern::api {

/// In a handler: throws the exception at hand again as Error. What a caller's own function threw stays as it is.
[[noreturn]] void throw_api_error();

/// work(), whose exceptions come out as Error: around the body of every public function.
template <class Work>
decltype(auto) with_api_errors(Work&& work) {
  try {
    return translate_errors(std::forward<Work>(work));
  } catch (...) {
    throw_api_error();
  }
}

/// A message of the library with its options spelled as programs know them: gpu_memory, "index with forward".
std::string with_program_names(std::string_view message);

/// A function that passes messages on to `tell`, if there is one, by with_program_names().
std::function<void(const std::string&)> with_program_names(std::function<void(const std::string&)> tell);

/// The first option that a message of the library names, as programs know it; empty if it names none.
std::string first_option(std::string_view message);

}  // namespace quern::api
