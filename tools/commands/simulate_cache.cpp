#include <fmt/format.h>

#include <functional>
#include <memory>
#include <utility>

#include "quern/cache/cache_plan.hpp"
#include "quern/core/size_text.hpp"

#include "bench/bench.hpp"
#include "cache_options.hpp"
#include "query_options.hpp"
#include "query_remarks.hpp"

namespace quern::tools {
namespace {

struct SimulateCacheArguments {
  CommonOptions common;
  CacheArguments cache;
  std::string index, log, train, plan;
  QueryFormat format = QueryFormat::automatic;
  std::vector<std::string> policies = names_of(all_cache_policies()), budgets = {"5%", "10%", "20%", "40%"};
  std::vector<double> max_admissions = {1};
  std::vector<std::size_t> ks = {10};
  std::uint64_t batch = 1024;
  bool csv = false;
};

/// Name and value of all figures, in the order in which they are printed.
Json figures_json(const SimulatedCache& simulated) {
  const CacheFigures& figures = simulated.figures;
  return {{"policy", simulated.policy},
          {"budget_bytes", simulated.budget_bytes},
          {"max_admission", simulated.max_admission},
          {"k", simulated.k},
          {"cached_bytes", simulated.cached_bytes},
          {"index_bytes", simulated.index_bytes},
          {"queries", figures.queries},
          {"unknown_queries", figures.unknown},
          {"empty_queries", figures.empty},
          {"hit_rate", figures.hit_rate()},
          {"block_hit_rate", figures.block_hit_rate()},
          {"served_queries", figures.served},
          {"post_processed_queries", figures.post_processed},
          {"post_processed_postings", figures.post_processed_postings},
          {"transfer_bytes_per_query", figures.transfer_bytes_per_query()},
          {"transfer_bytes_per_batch", figures.transfer_bytes_per_batch()},
          {"batches", figures.batches}};
}

/// The log to simulate, read once for each k.
class Log {
 public:
  Log(const SimulateCacheArguments& arguments, const Resources& resources)
      : arguments_(arguments), file_(arguments.log, arguments.format, resources), remarks_(arguments.common) {}

  void for_each(const std::function<void(std::string_view)>& take) {
    const QueryFormat format = file_.for_each([&](std::string_view, std::string_view text) {
      remarks_.look_at(text);
      take(text);
    });
    if (!std::exchange(is_format_said_, true)) say_format(arguments_.common, arguments_.log, arguments_.format, format);
  }

 private:
  const SimulateCacheArguments& arguments_;
  QueryLogFile file_;
  QueryRemarks remarks_;
  bool is_format_said_ = false;
};

/// All policies, budgets and lambdas, for each k.
std::vector<SimulatedCache> sweep(const SimulateCacheArguments& arguments, const QueryEngine& engine, Log& log,
                                  const Resources& resources) {
  const CacheBlocks blocks = cache_blocks(arguments.cache, engine, resources);
  const DemandOptions demand = demand_options(arguments.cache);
  SweepOptions options;
  options.ks = arguments.ks;
  options.policies = arguments.policies;
  options.max_admissions = arguments.max_admissions;
  options.round = demand.round;
  options.kind = demand.kind;
  options.batch = arguments.batch;
  const std::uint64_t index_bytes = blocks.index_bytes();
  for (const std::string& budget : arguments.budgets)
    options.budgets_bytes.push_back(parse_budget(budget, index_bytes));
  const QueryLogFile train(arguments.train, arguments.format, resources);
  const auto read_train = [&](const std::function<void(std::string_view)>& take) {
    train.for_each([&](std::string_view, std::string_view text) { take(text); });
  };
  const auto read_log = [&](const std::function<void(std::string_view)>& take) { log.for_each(take); };
  return sweep_policies(engine, blocks, read_train, read_log, options, resources);
}

void print_csv(const std::vector<SimulatedCache>& rows) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Json json = figures_json(rows[i]);
    std::vector<std::string> names, values;
    for (const auto& [name, value] : json.items()) {
      names.push_back(name);
      values.push_back(value.is_string() ? value.get<std::string>() : value.dump());
    }
    if (i == 0) print(fmt::format("{}\n", fmt::join(names, ",")));
    print(fmt::format("{}\n", fmt::join(values, ",")));
  }
}

void print_table(const std::vector<SimulatedCache>& rows) {
  print(fmt::format("{:<18}{:>9}{:>8}{:>7}{:>6}{:>9}{:>9}{:>9}{:>11}{:>16}{:>16}\n", "policy", "budget", "share",
                    "lambda", "k", "lists", "blocks", "served", "CPU", "transfer/query", "transfer/batch"));
  for (const SimulatedCache& row : rows) {
    const CacheFigures& figures = row.figures;
    const auto percent = [&](std::uint64_t part) {
      return figures.queries == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(figures.queries);
    };
    print(fmt::format(
        "{:<18}{:>9}{:>6.1f} %{:>7}{:>6}{:>7.2f} %{:>7.2f} %{:>7.2f} %{:>9.2f} %{:>16}{:>16}\n", row.policy,
        size_text(row.budget_bytes), 100 * static_cast<double>(row.cached_bytes) / static_cast<double>(row.index_bytes),
        row.max_admission, row.k, 100 * figures.hit_rate(), 100 * figures.block_hit_rate(), percent(figures.served),
        percent(figures.post_processed), size_text(static_cast<std::uint64_t>(figures.transfer_bytes_per_query())),
        size_text(static_cast<std::uint64_t>(figures.transfer_bytes_per_batch()))));
  }
}

void run(const SimulateCacheArguments& arguments) {
  const Resources resources = make_resources(arguments.common);
  const IndexReader index = IndexReader::open(arguments.index);
  if (!arguments.plan.empty()) {
    const CachePlan plan = PlanReader::open(arguments.plan).load_for(index);
    LogQueries queries(index.manifest().analyzer, resources);
    Log(arguments, resources).for_each([&](std::string_view text) { queries.add(text); });
    const SimulatedCache simulated = simulate_plan(plan, index, queries, arguments.batch, resources);
    if (arguments.common.json) return print(figures_json(simulated).dump(1) + "\n");
    return arguments.csv ? print_csv({simulated}) : print_table({simulated});
  }
  const QueryEngine engine(index, scoring_options(arguments.cache, index), resources.threads,
                           QueryMemory(resources.memory_bytes / 4, resources.threads));
  warn_of_full_visits(arguments.common, engine);
  Log log(arguments, resources);
  const std::vector<SimulatedCache> rows = sweep(arguments, engine, log, resources);
  if (arguments.csv) return print_csv(rows);
  if (!arguments.common.json) return print_table(rows);
  Json json = {{"bench", "cache"}, {"environment", environment_json()}, {"indexes", {index_json(index)}}};
  for (const SimulatedCache& row : rows) json["results"].push_back(figures_json(row));
  print(json.dump(1) + "\n");
}

}  // namespace

void add_cache_simulation(CLI::App& simulate) {
  auto arguments = std::make_shared<SimulateCacheArguments>();
  CLI::App* command =
      simulate.add_subcommand("cache", "Simulate what a plan, or a sweep of plans, saves on a query log");
  add_index_argument(*command, arguments->index);
  command->add_option("-q,--queries", arguments->log, "The query log to simulate, plain, gzip or zstd")
      ->type_name("FILE")
      ->required();
  add_query_format_option(*command, arguments->format, "Format of the logs");
  CLI::Option* plan =
      command->add_option("--plan", arguments->plan, "The plan: what quern plan wrote, with its settings")
          ->type_name("FILE");
  require_one_of(
      *command, plan,
      command->add_option("--train", arguments->train, "The log to make plans from, for a sweep")->type_name("FILE"));
  add_name_option(*command, "--policy", arguments->policies, all_cache_policies(), "Policies of a sweep (default: all)")
      ->delimiter(',');
  command
      ->add_option("--budget", arguments->budgets,
                   "Budgets of a sweep: sizes such as 64M or shares such as 10% (default: 5%,10%,20%,40%)")
      ->type_name("SIZE|P%")
      ->check(budget_validator())
      ->delimiter(',');
  command
      ->add_option("--max-admission", arguments->max_admissions,
                   "Largest shares of a list to keep (lambda), for a sweep (default: 1)")
      ->type_name("L")
      ->check(max_admission_validator())
      ->delimiter(',');
  command->add_option("--batch", arguments->batch, "Queries per batch, whose lists are transferred together")
      ->type_name("N")
      ->check(range_validator<std::uint64_t>(1, std::uint64_t{1} << 32))
      ->capture_default_str();
  add_cache_options(*command, arguments->cache);
  command->remove_option(command->get_option("-k"));
  command->add_option("-k", arguments->ks, "Results per query, for a sweep (default: 10)")
      ->type_name("N")
      ->check(range_validator(std::size_t{1}, std::size_t{end_docid}))
      ->delimiter(',');
  command->add_flag("--csv", arguments->csv, "Print figures as comma-separated values");
  command->add_flag("--json", arguments->common.json, "Print figures as JSON");
  add_common_options(*command, arguments->common);
  add_resource_options(*command, arguments->common);
  set_notes(
      *command,
      {"A list of which nothing is cached is transferred whole. If a query does not end within the cached blocks of "
       "its lists, the CPU completes it. Queries without results are left out.",
       "Columns: budget; share of the index that is cached; lambda, the largest share of a list to keep; k; lists and "
       "blocks, the shares of list and block accesses that hit the cache; served, the share of queries that need no "
       "transfer; CPU, the share that the CPU completes; bytes transferred per query and per batch."},
      {{"quern simulate cache my.quern --plan my.plan -q later.gz"},
       {"quern simulate cache my.quern --train train.gz -q test.gz --budget 5%,10%,20% --max-admission 0.75,1 --json > "
        "cache.json"},
       {"scripts/plot cache.json -o plots"}});
  command->callback([arguments] { run(*arguments); });
}

}  // namespace quern::tools
