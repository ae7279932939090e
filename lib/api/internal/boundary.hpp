#pragma once
#include "quern/core/error.hpp"

namespace quern::api {

/// In a handler: rethrows the current exception as Error. Exceptions of a caller's functions pass unchanged.
[[noreturn]] void throw_api_error();

/// Calls work() and throws its exceptions as Error. The body of every public function is in it.
template <class Work>
decltype(auto) with_api_errors(Work&& work) {
  try {
    return translate_errors(std::forward<Work>(work));
  } catch (...) {
    throw_api_error();
  }
}

/// Sets how messages spell options. The default is that of programs: gpu_memory, "index with forward". The command line
/// sets its own.
void set_option_spelling(OptionSpelling* spelling);

/// A message of the library, with options instead of placeholders.
std::string spelled(std::string_view message);
std::vector<std::string> spelled(std::vector<std::string> messages);

/// A function that passes spelled messages on to `take`, if that is set.
std::function<void(const std::string&)> spelled(std::function<void(const std::string&)> take);

/// ErrorCode::wrong_usage: contradictory options, or an output that is also an input.
class WrongUsage : public InvalidArgument {
 public:
  using InvalidArgument::InvalidArgument;
};

/// The first option that a message of the library names, spelled for programs; empty if it names none.
std::string first_option(std::string_view message);

}  // namespace quern::api
