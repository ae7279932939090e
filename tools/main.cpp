#include <fmt/format.h>
#include <malloc.h>
#include <sys/resource.h>

#include <cstdio>
#include <exception>
#include <initializer_list>
#include <new>
#include <sstream>
#include <thread>

#include "quern/api/error.hpp"
#include "quern/gpu/device/device_info.hpp"

#include "command.hpp"
#include "help/help.hpp"

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

/// Returns freed memory to the system, since budgets count the process's memory. An arena for each
/// core: threads that share one wait for each other, with four arenas up to half of the time on 16 cores.
void tune_allocator() {
  constexpr unsigned kept_bytes = 32 << 20;  // by all arenas
  const unsigned arenas = std::clamp(std::thread::hardware_concurrency(), 4u, 64u);
  ::mallopt(M_ARENA_MAX, static_cast<int>(arenas));
  ::mallopt(M_MMAP_THRESHOLD, 256 << 10);
  ::mallopt(M_TRIM_THRESHOLD, static_cast<int>(kept_bytes / arenas));
}

int report_failure(const std::string& text) {
  print_message(fmt::format("quern: error: {}\n", text));
  return failed;
}

int report_memory_failure() {
  return report_failure("out of memory; lower --memory or --threads, or close other programs");
}

int report_usage(const CLI::App& program, const CLI::ParseError& error) {
  print_message(fmt::format("quern: error: {}\nSee: {} --help\n", usage_message(program, error),
                            describe(named_command(program)).full_name()));
  return wrong_usage;
}

int report_api_error(const CLI::App& program, const api::Error& error) {
  if (error.code() == api::ErrorCode::wrong_usage) return report_usage(program, CLI::ValidationError(error.what()));
  return error.code() == api::ErrorCode::out_of_memory ? report_memory_failure() : report_failure(error.what());
}

/// A command that only has other commands below it.
void add_group(CLI::App& program, const char* name, const char* summary, std::initializer_list<AddCommand> commands) {
  CLI::App* group = program.add_subcommand(name, summary);
  group->require_subcommand(1);
  for (const AddCommand add : commands) add(*group);
}

/// Parses a command line and runs its command, or prints the help or version that it asks for; without any word, help.
void parse(CLI::App& program, int argc, char** argv) {
  if (argc < 2) return print(program.help());
  try {
    program.parse(argc, argv);
  } catch (const CLI::Success& asked) {
    std::ostringstream text;
    program.exit(asked, text);
    print(text.str());
  }
}

/// Takes as many open files as the system allows: some commands read a thousand splits at once.
void raise_open_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

/// All commands, in the order of the help text.
void add_commands(CLI::App& program) {
  for (const AddCommand add :
       {add_index_command,  add_query_command,  add_explain_command,    add_features_command,  add_rerank_command,
        add_fuse_command,   add_eval_command,   add_tune_command,       add_intersect_command, add_parse_command,
        add_order_command,  add_build_command,  add_statistics_command, add_merge_command,     add_merge_runs_command,
        add_cut_command,    add_ranges_command, add_inspect_command,    add_verify_command,    add_analyze_command,
        add_import_command, add_export_command, add_plan_command})
    add(program);
  add_group(program, "simulate", "Simulate GPU caches, memory splits and schedules, without a GPU",
            {add_cache_simulation, add_throughput_simulation, add_schedule_simulation});
  add_synth_command(program);
  add_group(program, "bench", "Measure speed and sizes on this machine",
            {add_codec_bench, add_query_bench, add_cost_bench, add_stream_bench, add_intersect_bench, add_lists_bench,
             add_order_bench, add_pagerank_bench, add_rerank_bench, add_gpu_bench, add_gpu_cache_bench,
             add_gpu_decode_bench, add_gpu_intersect_bench});
  add_completion_command(program);
  add_help_command(program);
}

}  // namespace

int main(int argc, char** argv) {
  occupy_standard_streams();
  try {
    end_cleanly_on_signals();
  } catch (const IoError& error) {
    return report_failure(error.what());
  }
  tune_allocator();
  raise_open_files();
  CLI::App program("Build block-max inverted indexes and answer top-k queries over them", "quern");
  program.formatter(make_help_formatter());
  program.set_help_flag("-h,--help", "Print this help and exit");
  program.set_help_all_flag("--help-all", "Print all options and exit");
  program.set_version_flag("--version", version_text, "Print the version and the GPUs, and exit");
  program.require_subcommand(1);
  add_commands(program);
  take_lists_as_words(program);
  set_notes(program,
            {"Results go to standard output, everything else to standard error. The environment variables "
             "QUERN_THREADS, QUERN_MEMORY and QUERN_TMP set the defaults of --threads, --memory and --tmp.",
             "See quern COMMAND --help for the options and examples of a command."},
            {{"quern index corpus.warc.gz -o my.quern"}, {"quern query my.quern --query \"water mill\""}});
  program.parse_complete_callback([&program] {
    refuse_split_lists(named_command(program));
    refuse_overwritten_inputs(named_command(program));
  });
  spell_options_of(program);
  try {
    parse(program, argc, argv);
    flush_output();
    return 0;
  } catch (const CLI::ParseError& error) {
    return report_usage(program, error);
  } catch (const api::WrongUsage& error) {
    return report_usage(program, CLI::ValidationError(error.what()));
  } catch (const api::Error& error) {
    return report_api_error(program, error);
  } catch (const OutOfMemory&) {
    return report_memory_failure();
  } catch (const std::bad_alloc&) {
    return report_memory_failure();
  } catch (const std::exception& error) {
    return report_failure(error.what());
  } catch (...) {
    return report_failure("unknown error; please report it");
  }
}
