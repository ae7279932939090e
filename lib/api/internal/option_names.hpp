#pragma once
#include <functional>
#include <string>
#include <string_view>

namespace quern::api {

/// A message of the library with its options spelled as programs know them: gpu_memory, "index with forward".
std::string with_program_names(std::string_view message);

/// A function that passes messages on to `tell`, if there is one, by with_program_names().
std::function<void(const std::string&)> with_program_names(std::function<void(const std::string&)> tell);

/// The first option that a message of the library names, as programs know it; empty if it names none.
std::string first_option(std::string_view message);

}  // namespace quern::api
