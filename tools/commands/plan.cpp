#include "quern/plan/cache_policy.hpp"

#include "cache_options.hpp"
#include "query_options.hpp"

namespace quern::tools {
namespace {

struct PlanArguments {
  CommonOptions common;
  api::PlanOptions plan;
  std::string index, log, budget, gpu_memory, output;
  QueryFormat format = QueryFormat::automatic;
};

/// A size such as 64M, or a share such as 10%.
template <class Size>
void take_budget(const std::string& text, Size& bytes, double& share) {
  if (const auto percent = percentage(text))
    share = *percent / 100;
  else if (!text.empty())
    bytes = parse_size(text);
}

void run(const PlanArguments& arguments) {
  const Resources resources = make_resources(arguments.common, arguments.output);
  api::PlanOptions options = arguments.plan;
  take_budget(arguments.budget, options.budget_bytes, options.budget_share);
  take_budget(arguments.gpu_memory, options.gpu_memory_bytes, options.gpu_memory_share);
  options.json_queries = query_kind(arguments.format) == QueryKind::vector;
  options.overwrite = arguments.common.force;
  const auto log = [&](const std::function<void(const api::Query&)>& take) {
    QueryRemarks remarks(arguments.common, arguments.format);
    const QueryLogFile file(arguments.log, arguments.format, resources);
    const QueryFormat format = file.for_each([&](std::string_view, std::string_view text) {
      remarks.look_at(text);
      take(text);
    });
    say_format(arguments.common, arguments.log, arguments.format, format);
  };
  const api::PlanReport report = api::plan_cache(api::Index::open(arguments.index), log, arguments.output, options,
                                                 make_work(arguments.common, resources));
  if (arguments.common.json) print(report.figures + "\n");
}

}  // namespace

void add_plan_command(CLI::App& program) {
  auto [command, arguments] = add_command<PlanArguments>(
      program, "plan", "Choose from a query log which posting lists a GPU keeps in memory", run);
  add_index_argument(command, arguments.index);
  add_option(command, "-q,--queries", arguments.log, "FILE", "The query log, plain, gzip or zstd; - is standard input")
      ->required();
  add_query_format_option(command, arguments.format, "Format of the log", QueryKinds::text_and_terms);
  arguments.plan.policy = all_cache_policies().front()->name;
  add_name_option(command, "--policy", arguments.plan.policy, all_cache_policies(),
                  with_choices("What to keep:", all_cache_policies()));
  CLI::Option* budget =
      add_option(command, "--budget", arguments.budget, "SIZE|P%",
                 "GPU memory for lists: a size such as 64M, or a share of the size of all lists such as 10%")
          ->check(budget_validator());
  require_one_of(command, budget,
                 add_option(command, "--gpu-memory", arguments.gpu_memory, "SIZE|P%",
                            "GPU memory limit, as for quern query: the plan gets what the engine leaves after "
                            "tables, rows and batches")
                     ->check(budget_validator()));
  add_option(command, "--max-admission", arguments.plan.max_admission, "L",
             "Largest share of a list to keep; at least one block is kept")
      ->check(max_admission_validator())
      ->capture_default_str();
  add_cache_options(command, arguments.plan);
  add_output_options(command, arguments.common, arguments.output, "plan");
  add_common_options(command, arguments.common);
  set_notes(
      command,
      {"Plans are for queries with algorithm `and`. Other algorithms transfer the part of a list that is not cached.",
       "A list's size is that of its coded words and, with --scores quantized, its impacts, as `quern query "
       "--gpu-memory` counts it. Lists of at most one block are sent with the queries that need them and are in no "
       "plan."},
      {{"quern plan my.quern -q log.gz --budget 10% -o my.plan"},
       {"quern plan my.quern -q log.gz --policy qtf --gpu-memory 4G -o my.plan", "For queries with --gpu-memory 4G"},
       {"quern simulate cache my.quern --plan my.plan -q later.gz", "Simulate the plan on another log"}});
}

}  // namespace quern::tools
