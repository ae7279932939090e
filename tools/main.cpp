#include <fmt/format.h>
#include <malloc.h>

#include <cstdio>
#include <exception>
#include <new>

#include "quern/core/error.hpp"
#include "quern/core/size_text.hpp"
#include "quern/core/version.hpp"
#include "quern/gpu/device/device_info.hpp"

#include "command.hpp"

namespace {

using namespace quern;
using namespace quern::tools;

constexpr int failed = 1, wrong_usage = 2;

std::string version_text() {
  std::string text = fmt::format("quern {}\n", version());
  if (!built_with_cuda()) return text + "built without CUDA";
  text += "built with CUDA";
  for (const GpuInfo& gpu : list_gpus())
    text += fmt::format("\n{}, {}, {} multiprocessors", gpu.name, size_text(gpu.memory_bytes), gpu.multiprocessors);
  return text;
}

/// Keeps the memory that was freed from staying with the process: budgets count what the system sees.
void tune_allocator() {
  ::mallopt(M_ARENA_MAX, 4);
  ::mallopt(M_MMAP_THRESHOLD, 4 << 20);
  ::mallopt(M_TRIM_THRESHOLD, 8 << 20);
}

int report_usage(const CLI::App& program, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) return program.exit(error);  // --help, --version
  std::string command = "quern";
  for (const CLI::App* used : program.get_subcommands()) command += " " + used->get_name();
  const bool unknown_command = program.get_subcommands().empty() && !program.remaining().empty();
  const std::string text =
      unknown_command ? fmt::format("'{}' is no command of quern", program.remaining().front()) : error.what();
  fmt::print(stderr, "quern: error: {}\nSee {} --help\n", text, command);
  return wrong_usage;
}

int report_failure(const std::string& text) {
  fmt::print(stderr, "quern: error: {}\n", text);
  return failed;
}

}  // namespace

int main(int argc, char** argv) {
  tune_allocator();
  CLI::App program("Grinds a corpus into a compressed block-max inverted index and answers top-k queries over it.",
                   "quern");
  program.set_version_flag("--version", version_text, "Print version and devices");
  program.require_subcommand(1);
  program.footer(
      "\nquern COMMAND --help has each command's options and examples. First steps:\n"
      "  quern index corpus.warc.gz -o my.quern\n"
      "  quern query my.quern --query \"water mill\"");
  for (const AddCommand add :
       {add_index_command, add_query_command, add_parse_command, add_order_command, add_build_command,
        add_inspect_command, add_verify_command, add_analyze_command, add_bench_command, add_import_command,
        add_export_command, add_intersect_command, add_synth_command, add_plan_command, add_simulate_command})
    add(program);
  try {
    program.parse(argc, argv);
    flush_output();
    return 0;
  } catch (const CLI::ParseError& error) {
    return report_usage(program, error);
  } catch (const std::bad_alloc&) {
    return report_failure("out of memory; give a smaller --memory, or close other programs");
  } catch (const std::exception& error) {
    return report_failure(error.what());
  }
}
