#include <fmt/format.h>

#include <functional>
#include <memory>

#include "quern/core/size_text.hpp"
#include "quern/gpu/store/list_cache.hpp"
#include "quern/plan/cache_plan.hpp"

#include "cache_options.hpp"
#include "figures.hpp"
#include "gpu_options.hpp"
#include "query_options.hpp"

namespace quern::tools {
namespace {

struct PlanArguments {
  CommonOptions common;
  CacheArguments cache;
  PlanOptions plan;
  std::string index, log, budget, gpu_memory, output;
  QueryFormat format = QueryFormat::automatic;
};

/// Says what a plan holds. `kept_bytes`: of all lists that it could hold.
void say_plan(const CommonOptions& common, const PlanManifest& manifest, std::uint64_t kept_bytes,
              const std::string& output) {
  say(common, fmt::format("quern: {}, {} distinct; {} with terms that are not indexed, {} without results",
                          count_text(manifest.queries, "query", "queries"), manifest.distinct_queries,
                          manifest.unknown_queries, manifest.empty_queries));
  say(common, fmt::format("quern: wrote {}: {}, {} of {} cached, {} of {}", output, manifest.policy,
                          size_text(manifest.cached_bytes), size_text(manifest.index_bytes),
                          count_text(manifest.cached_blocks, "block"), count_text(manifest.lists, "list")));
  if (kept_bytes == 0) {
    say(common, "quern: no list is longer than a block of the index; GPUs get such lists with their queries");
  } else if (manifest.cached_bytes == kept_bytes) {
    say(common, "quern: the budget holds all lists that are longer than a block of the index");
  }
}

/// Sets the room for the plan: --budget, or what --gpu-memory leaves to it.
void set_budget(PlanArguments& arguments, const QueryEngine& engine, const CacheBlocks& blocks) {
  PlanOptions& plan = arguments.plan;
  if (arguments.gpu_memory.empty()) {
    plan.budget_bytes = parse_budget(arguments.budget, blocks.index_bytes());
    return;
  }
  const gpu::PlanRoom room = gpu::plan_room(engine, gpu_memory_limit(arguments.gpu_memory));
  plan.budget_bytes = room.bytes;
  plan.budget_rows = room.rows;
  if (room.whole_index)
    say(arguments.common, fmt::format("quern: {}: the whole index fits in {} of GPU memory; queries need no plan",
                                      blocks.index().name(), arguments.gpu_memory));
}

void run(PlanArguments arguments) {
  const Resources resources = make_resources(arguments.common, arguments.output);
  const IndexReader index = IndexReader::open(arguments.index);
  const LogPlanner planner(index, scoring_options(arguments.cache, index), arguments.cache.block, resources);
  arguments.plan.demand = demand_options(arguments.cache, arguments.format);
  set_budget(arguments, planner.engine(), planner.blocks());
  const auto read_log = [&](const std::function<void(std::string_view)>& take) {
    warn_of_full_visits(arguments.common, planner.engine());
    QueryRemarks remarks(arguments.common, arguments.format);
    const QueryLogFile file(arguments.log, arguments.format, resources);
    const QueryFormat format = file.for_each([&](std::string_view, std::string_view text) {
      remarks.look_at(text);
      take(text);
    });
    say_format(arguments.common, arguments.log, arguments.format, format);
  };
  const PlanManifest manifest = planner.write(arguments.plan, read_log, arguments.output, arguments.common.force);
  say_plan(arguments.common, manifest, planner.blocks().kept_bytes(), arguments.output);
  if (arguments.common.json) print(to_json(manifest).dump(1) + "\n");
}

}  // namespace

void add_plan_command(CLI::App& program) {
  auto arguments = std::make_shared<PlanArguments>();
  CLI::App* command =
      program.add_subcommand("plan", "Choose from a query log which posting lists a GPU keeps in memory");
  add_index_argument(*command, arguments->index);
  command->add_option("-q,--queries", arguments->log, "The query log, plain, gzip or zstd; - is standard input")
      ->type_name("FILE")
      ->required();
  add_query_format_option(*command, arguments->format, "Format of the log", QueryKinds::text_and_terms);
  add_name_option(*command, "--policy", arguments->plan.policy, all_cache_policies(),
                  with_choices("What to keep:", all_cache_policies()))
      ->capture_default_str();
  CLI::Option* budget =
      command
          ->add_option("--budget", arguments->budget,
                       "GPU memory for lists: a size such as 64M, or a share of the size of all lists such as 10%")
          ->type_name("SIZE|P%")
          ->check(budget_validator());
  require_one_of(*command, budget,
                 command
                     ->add_option("--gpu-memory", arguments->gpu_memory,
                                  "GPU memory limit, as for quern query: the plan gets what the engine leaves after "
                                  "tables, rows and batches")
                     ->type_name("SIZE|P%")
                     ->check(budget_validator()));
  command
      ->add_option("--max-admission", arguments->plan.max_admission,
                   "Largest share of a list to keep; at least one block is kept")
      ->type_name("L")
      ->check(max_admission_validator())
      ->capture_default_str();
  add_cache_options(*command, arguments->cache);
  add_output_options(*command, arguments->common, arguments->output, "plan");
  add_common_options(*command, arguments->common);
  set_notes(
      *command,
      {"Plans are for queries with algorithm `and`. Other algorithms transfer the part of a list that is not cached.",
       "A list's size is that of its coded words and, with --scores quantized, its impacts, as `quern query "
       "--gpu-memory` counts it. Lists of at most one block are sent with the queries that need them and are in no "
       "plan."},
      {{"quern plan my.quern -q log.gz --budget 10% -o my.plan"},
       {"quern plan my.quern -q log.gz --policy qtf --gpu-memory 4G -o my.plan", "For queries with --gpu-memory 4G"},
       {"quern simulate cache my.quern --plan my.plan -q later.gz", "Simulate the plan on another log"}});
  command->callback([arguments] { run(*arguments); });
}

}  // namespace quern::tools
