#pragma once
#include <string>
#include <vector>

#include "quern/gpu/engine/strategy.hpp"

#include "command.hpp"

/// Options that say how a GPU answers queries.
namespace quern::tools {

/// --strategy NAME, and what strategies can be told.
void add_strategy_options(CLI::App& command, std::string& strategy, gpu::StrategyOptions& options);
/// --strategies NAME,..., for those that compare them.
void add_strategy_options(CLI::App& command, std::vector<std::string>& strategies, gpu::StrategyOptions& options);

}  // namespace quern::tools
