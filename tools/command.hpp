#pragma once
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "quern/core/named.hpp"
#include "quern/core/progress.hpp"
#include "quern/core/resources.hpp"

#include "help/command_text.hpp"

/// What the commands share. A command has the file of its name: query.cpp, bench/gpu.cpp, simulate_cache.cpp. It parses
/// options, calls the library and prints; no algorithm lives here.
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
/// QUERN_TMP, then from the defaults. Temporary files go to the folder of `output` unless another is set. Limits the
/// threads of the whole process.
Resources make_resources(const CommonOptions& options, const std::string& output = ".");

/// A size such as 64M: a wrong one is a usage error.
CLI::Validator size_validator();
/// One of a registry's names, which help and completions list: another one is a usage error.
CLI::Validator name_validator(const std::vector<std::string>& names);

/// A number from `min` to `max`: another one is a usage error.
template <class Number>
CLI::Validator range_validator(Number min, Number max) {
  return CLI::Validator(
      [min, max](const std::string& text) -> std::string {
        Number value{};
        // Casting "-3" to an unsigned number would wrap around.
        const bool negative = text.starts_with('-') && std::is_unsigned_v<Number>;
        if (!negative && CLI::detail::lexical_cast(text, value) && value >= min && value <= max) return {};
        return "'" + text + "' is not a number from " + std::to_string(min) + " to " + std::to_string(max);
      },
      "");
}
/// Has a command take exactly one of its options `a` and `b`; else it is a usage error.
void require_one_of(CLI::App& command, CLI::Option* a, CLI::Option* b);
/// To be thrown for command lines that are wrong as a whole.
CLI::ValidationError usage_error(const std::string& text);

/// "1 term", "2 terms"; "2 queries" with a plural of its own.
std::string count_text(std::uint64_t count, const std::string& noun, const std::string& plural = {});
/// "a, b, c".
std::string joined(const std::vector<std::string>& names);

/// Adds a command to the program, or to a group of commands; its callback does the work.
using AddCommand = void (*)(CLI::App& program);
/// The commands of `quern`.
void add_analyze_command(CLI::App& program);
void add_build_command(CLI::App& program);
void add_completion_command(CLI::App& program);
void add_export_command(CLI::App& program);
void add_help_command(CLI::App& program);
void add_import_command(CLI::App& program);
void add_index_command(CLI::App& program);
void add_inspect_command(CLI::App& program);
void add_intersect_command(CLI::App& program);
void add_order_command(CLI::App& program);
void add_parse_command(CLI::App& program);
void add_plan_command(CLI::App& program);
void add_query_command(CLI::App& program);
void add_synth_command(CLI::App& program);
void add_verify_command(CLI::App& program);
/// The commands of `quern bench`.
void add_codec_bench(CLI::App& bench);
void add_gpu_bench(CLI::App& bench);
void add_gpu_decode_bench(CLI::App& bench);
void add_gpu_intersect_bench(CLI::App& bench);
void add_gpu_stream_bench(CLI::App& bench);
void add_intersect_bench(CLI::App& bench);
void add_lists_bench(CLI::App& bench);
void add_merge_find_bench(CLI::App& bench);
void add_pagerank_bench(CLI::App& bench);
void add_query_bench(CLI::App& bench);
void add_termination_bench(CLI::App& bench);
/// The commands of `quern simulate`.
void add_cache_simulation(CLI::App& simulate);
void add_throughput_simulation(CLI::App& simulate);

/// Writes to stdout and throws IoError if that fails (a full disk, a closed pipe).
void print(std::string_view text);
/// Makes sure that all of stdout is written; throws IoError.
void flush_output();
/// Shows progress on standard error: a bar that is redrawn on a terminal, else a line every few seconds. Quiet: only
/// warnings.
std::unique_ptr<Progress> make_console_progress(bool quiet);
/// A line for people on stderr, unless --quiet.
void say(const CommonOptions& options, const std::string& line);

}  // namespace quern::tools
