#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quern/core/error.hpp"
#include "quern/core/option_name.hpp"

namespace quern::api {

/// In a handler: throws the current exception again as Error. Exceptions of a caller's own functions pass unchanged.
[[noreturn]] void throw_api_error();

/// Calls work() and throws its exceptions as Error: around the body of every public function.
template <class Work>
decltype(auto) with_api_errors(Work&& work) {
  try {
    return translate_errors(std::forward<Work>(work));
  } catch (...) {
    throw_api_error();
  }
}

/// How options are spelled in messages from now on, for example gpu_memory and "index with forward", as programs know
/// them, which is the default. The command line, which calls the functions of lib/api, too, has its own spelling.
void set_option_spelling(OptionSpelling* spelling);

/// A message of the library with its options spelled.
std::string spelled(std::string_view message);
std::vector<std::string> spelled(std::vector<std::string> messages);

/// A function that passes messages on to `tell`, if set, with their options spelled.
std::function<void(const std::string&)> spelled(std::function<void(const std::string&)> tell);

/// Options that contradict each other or name nothing, an output that is also an input: wrong usage of a command line.
class WrongUsage : public InvalidArgument {
 public:
  using InvalidArgument::InvalidArgument;
};

/// The first option that a message of the library names, as programs know it; empty if it names none.
std::string first_option(std::string_view message);

}  // namespace quern::api
