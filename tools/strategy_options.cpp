#include "strategy_options.hpp"

namespace quern::tools {
namespace {

std::vector<std::string> strategy_names() { return names_of(gpu::all_strategies()); }

void add_partitions_option(CLI::App& command, gpu::StrategyOptions& options) {
  command
      .add_option("--partitions", options.partitions,
                  "Ranges of documents that the strategy partition cuts an index into: 32 to 512, a multiple of 32")
      ->type_name("N")
      ->check(CLI::Validator(
          [](const std::string& text) -> std::string {
            unsigned number = 0;
            if (CLI::detail::lexical_cast(text, number) && gpu::are_partitions(number)) return {};
            return "'" + text + "' is not one of 32, 64 ... 512";
          },
          ""))
      ->capture_default_str();
}

}  // namespace

void add_strategy_options(CLI::App& command, std::string& strategy, gpu::StrategyOptions& options) {
  command
      .add_option("--strategy", strategy,
                  "How a GPU finds the results, which are always the same:" + gpu::strategies_help())
      ->type_name("NAME")
      ->check(name_validator(strategy_names()))
      ->capture_default_str();
  add_partitions_option(command, options);
}

void add_strategy_options(CLI::App& command, std::vector<std::string>& strategies, gpu::StrategyOptions& options) {
  command.add_option("--strategies", strategies, "How the GPU finds the results:" + gpu::strategies_help())
      ->type_name("NAME")
      ->delimiter(',')
      ->check(name_validator(strategy_names()))
      ->capture_default_str();
  add_partitions_option(command, options);
}

}  // namespace quern::tools
