#pragma once
#include <CLI/CLI.hpp>

#include <string>

namespace quern::tools {

/// The command that the command line names, as deep as it does: `quern bench gpu`.
const CLI::App& named_command(const CLI::App& program);

/// What is wrong with a command line and how to mend it, in one line, instead of CLI11's own words.
std::string usage_message(const CLI::App& program, const CLI::ParseError& error);

}  // namespace quern::tools
