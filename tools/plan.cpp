#include <fmt/format.h>

#include <memory>

#include "quern/cache/cache_plan.hpp"
#include "quern/core/size_text.hpp"
#include "quern/io/atomic_output.hpp"

#include "cache_options.hpp"
#include "plan_figures.hpp"
#include "query_source.hpp"

namespace quern::tools {
namespace {

struct PlanArguments {
  CommonOptions common;
  CacheArguments cache;
  PlanOptions plan;
  std::string index, log, form = "auto", budget, output;
};

void say_plan(const CommonOptions& common, const PlanManifest& manifest, const std::string& output) {
  say(common,
      fmt::format("quern: {} queries, {} of them distinct; {} have a term that the index has not, {} find nothing",
                  manifest.queries, manifest.distinct_queries, manifest.unknown_queries, manifest.empty_queries));
  say(common, fmt::format("quern: wrote {}: {}, {} of {} cached, {} blocks of {} lists", output, manifest.policy,
                          size_text(manifest.cached_bytes), size_text(manifest.index_bytes), manifest.cached_blocks,
                          manifest.lists));
  if (manifest.cached_bytes == manifest.index_bytes) say(common, "quern: the budget holds the whole index");
}

void run(PlanArguments arguments) {
  const Resources resources = make_resources(arguments.common, arguments.output);
  const IndexReader index = IndexReader::open(arguments.index);
  const QueryEngine engine(index, scoring_options(arguments.cache, index));
  const CacheBlocks blocks(index, block_size(arguments.cache, index));
  arguments.plan.demand = demand_options(arguments.cache);
  arguments.plan.budget_bytes = parse_budget(arguments.budget, blocks.index_bytes());
  AtomicOutput out = AtomicOutput::file(arguments.output, arguments.common.force);
  warn_of_full_visits(arguments.common, engine);
  LogQueries log(index.manifest().analyzer, resources);
  QueryLogFile(arguments.log, arguments.form, resources).for_each([&](std::string_view, std::string_view text) {
    log.add(text);
  });
  const LogDemand demand = measure_demand(engine, blocks, log, arguments.plan.demand, resources);
  write_plan(out.file(), make_plan(engine, blocks, demand, arguments.plan));
  out.commit();
  const PlanManifest manifest = PlanReader::open(arguments.output).manifest();
  say_plan(arguments.common, manifest, arguments.output);
  if (arguments.common.json) print(to_json(manifest).dump(1) + "\n");
}

}  // namespace

void add_plan_command(CLI::App& program) {
  auto arguments = std::make_shared<PlanArguments>();
  CLI::App* command =
      program.add_subcommand("plan", "Choose what of an index a GPU's memory should hold, from a log of queries");
  command->add_option("INDEX", arguments->index, "What quern index or quern build wrote")->type_name("")->required();
  command->add_option("-q,--queries", arguments->log, "The log, plain, gzip or zstd; - is standard input")
      ->type_name("FILE")
      ->required();
  const std::vector<std::string> forms(query_file_forms().begin(), query_file_forms().end());
  command->add_option("--queries-format", arguments->form, "Form of the log: " + joined(forms))
      ->type_name("NAME")
      ->check(name_validator(forms))
      ->capture_default_str();
  std::string policies = "What is kept:";
  for (const CachePolicy* policy : all_cache_policies())
    policies += fmt::format("\n  {}: {}", policy->name, policy->description);
  command->add_option("--policy", arguments->plan.policy, policies)
      ->type_name("NAME")
      ->check(name_validator(names_of(all_cache_policies())))
      ->capture_default_str();
  command->add_option("--budget", arguments->budget, "GPU memory for lists, or a share of what all lists take (10%)")
      ->type_name("SIZE|P%")
      ->check(budget_validator())
      ->required();
  command
      ->add_option("--max-admission", arguments->plan.max_admission,
                   "Of each list at most this share is kept, but one block at least")
      ->type_name("L")
      ->check(range_validator(0.0, 1.0))
      ->capture_default_str();
  add_cache_options(*command, arguments->cache);
  add_output_options(*command, arguments->common, arguments->output, "plan");
  add_common_options(*command, arguments->common);
  command->footer(
      "\nPlans are made for queries by `and`. For other algorithms a list that is kept in part is transferred as far "
      "as\n"
      "it is not.\n"
      "\nExamples:\n  quern plan my.quern -q log.gz --budget 10% -o my.plan\n"
      "  quern plan my.quern -q log.gz --policy qtf --budget 4G -o my.plan\n"
      "  quern simulate cache my.quern --plan my.plan -q later.gz");
  command->callback([arguments] { run(*arguments); });
}

}  // namespace quern::tools
