#pragma once
#include <CLI/CLI.hpp>

#include <string>

#include "command.hpp"

/// What the commands `quern bench NAME` share; each has a file of that name.
namespace quern {
class IndexReader;
}

namespace quern::tools {

/// --repeats: the number of measurements; the median counts.
void add_repeats_option(CLI::App& command, unsigned& repeats, const char* help);

/// Machine, build, date and command line, as every benchmark's JSON has them under "environment".
Json environment_json();
/// One line of them, for people.
std::string environment_line();
/// Counts, codec, order and bits per posting of an index.
Json index_json(const IndexReader& index);
/// As tables show rates.
inline double billions(double rate) { return rate / 1e9; }

}  // namespace quern::tools
