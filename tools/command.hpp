#pragma once
#include <functional>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "quern/core/resources.hpp"

/// What the subcommands share. Each file beside this one adds one subcommand: it parses options, calls the library
/// and prints; no algorithm lives here.
namespace quern::tools {

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
/// --memory, --tmp, --force, --json: for commands that write a file.
void add_output_options(CLI::App& command, CommonOptions& options);
/// Options as the library takes them; `output` names the folder for work files where --tmp doesn't.
Resources make_resources(const CommonOptions& options, const std::string& output);

/// Adds the subcommand to the program; what it returns is done by CLI11's callback.
using AddCommand = void (*)(CLI::App& program);
void add_analyze_command(CLI::App& program);
void add_build_command(CLI::App& program);
void add_index_command(CLI::App& program);
void add_inspect_command(CLI::App& program);
void add_order_command(CLI::App& program);
void add_parse_command(CLI::App& program);
void add_query_command(CLI::App& program);
void add_verify_command(CLI::App& program);

/// Writes to stdout and throws IoError where that fails (a full disk, a closed pipe).
void print(std::string_view text);

}  // namespace quern::tools
