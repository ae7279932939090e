#pragma once
#include <string>
#include <string_view>

namespace quern::api {

/// A text that names options as the command line does, with the names that they have for programs: "raise
/// --max-errors" becomes "raise max_errors", "quern index --forward" becomes "index with forward".
std::string with_program_names(std::string_view text);

/// The first option that such a text names, as programs call it; empty if it names none.
std::string first_option(std::string_view text);

}  // namespace quern::api
