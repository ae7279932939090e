#include "simulate.hpp"

#include "command.hpp"

namespace quern::tools {

void add_simulate_command(CLI::App& program) {
  CLI::App* command = program.add_subcommand("simulate", "Works out what a set-up would do, without the hardware");
  command->require_subcommand(1);
  for (const AddCommand add : {add_cache_simulation, add_throughput_simulation}) add(*command);
}

}  // namespace quern::tools
