#pragma once
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "quern/core/named.hpp"
#include "quern/core/resources.hpp"

/// What the subcommands share. Each file beside this one adds one subcommand: it parses options, calls the library
/// and prints; no algorithm lives here.
namespace quern::tools {

using Json = nlohmann::ordered_json;

/// The options that every command has, and those of long work.
struct CommonOptions {
  unsigned threads = 0;  ///< 0: all cores
  bool quiet = false;
  bool json = false;
  bool force = false;
  std::string memory;  ///< empty: the default
  std::string tmp;     ///< empty: the output's folder
};

/// -j/--threads and --quiet.
void add_common_options(CLI::App& command, CommonOptions& options);
/// --memory, --tmp.
void add_resource_options(CLI::App& command, CommonOptions& options);
/// -o/--output, required; --memory, --tmp, --force, --json: for commands that write a file.
void add_output_options(CLI::App& command, CommonOptions& options, std::string& output, const std::string& what);
/// Options as the library takes them: what the command line leaves open comes from QUERN_THREADS, QUERN_MEMORY and
/// QUERN_TMP, then from the defaults. `output` names the folder for work files where nothing else does. Limits the
/// threads of the whole process.
Resources make_resources(const CommonOptions& options, const std::string& output = ".");

/// A size such as 64M: a wrong one is a usage error.
CLI::Validator size_validator();
/// One of a registry's names: another one is a usage error.
CLI::Validator name_validator(const std::vector<std::string>& names);

/// A number within bounds, both included: another one is a usage error.
template <class Number>
CLI::Validator range_validator(Number least, Number greatest) {
  return CLI::Range(least, greatest).description("");
}

/// "a, b, c".
std::string joined(const std::vector<std::string>& names);

/// Adds the subcommand to the program; its work is done by CLI11's callback.
using AddCommand = void (*)(CLI::App& program);
void add_analyze_command(CLI::App& program);
void add_bench_command(CLI::App& program);
void add_build_command(CLI::App& program);
void add_export_command(CLI::App& program);
void add_import_command(CLI::App& program);
void add_index_command(CLI::App& program);
void add_inspect_command(CLI::App& program);
void add_intersect_command(CLI::App& program);
void add_order_command(CLI::App& program);
void add_parse_command(CLI::App& program);
void add_plan_command(CLI::App& program);
void add_query_command(CLI::App& program);
void add_simulate_command(CLI::App& program);
void add_synth_command(CLI::App& program);
void add_verify_command(CLI::App& program);

/// Writes to stdout and throws IoError where that fails (a full disk, a closed pipe).
void print(std::string_view text);
/// Makes sure that all of stdout is written; throws IoError.
void flush_output();
/// A line for people on stderr, unless --quiet.
void say(const CommonOptions& options, const std::string& line);

}  // namespace quern::tools
