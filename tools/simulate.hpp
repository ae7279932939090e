#pragma once
#include <CLI/CLI.hpp>

/// What `quern simulate` works out. Each file simulate_NAME.cpp adds one of its subcommands.
namespace quern::tools {

void add_cache_simulation(CLI::App& simulate);
void add_throughput_simulation(CLI::App& simulate);

}  // namespace quern::tools
