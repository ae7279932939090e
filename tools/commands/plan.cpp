#include <fmt/format.h>

#include <cmath>

#include "quern/plan/cache_plan.hpp"

#include "figures.hpp"
#include "gpu_options.hpp"
#include "query_options.hpp"

namespace quern::tools {
namespace {

struct PlanArguments {
  CommonOptions common;
  api::PlanOptions plan;
  std::string index, log, budget, gpu_memory, output;
  QueryLayout layout;
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
  if (arguments.plan.list_buffer_bytes != 0 && arguments.gpu_memory.empty())
    throw usage_error("--list-buffer needs --gpu-memory");
  const Resources resources = make_resources(arguments.common, arguments.output);
  api::PlanOptions options = arguments.plan;
  take_budget(arguments.budget, options.budget_bytes, options.budget_share);
  take_budget(arguments.gpu_memory, options.gpu_memory_bytes, options.gpu_memory_share);
  if (!arguments.gpu_memory.empty() && options.gpu_memory_bytes == 0 && options.gpu_memory_share == 0)
    throw usage_error("--gpu-memory {}: leaves no room for a plan; give a size such as 4G, or a share such as 40%",
                      arguments.gpu_memory);
  options.json_queries = query_kind(arguments.layout.format) == QueryKind::vector;
  options.overwrite = arguments.common.force;
  const auto log = [&](const std::function<void(const api::Query&)>& take) {
    QueryRemarks remarks(arguments.common, arguments.layout.format);
    QueryLogFile(arguments.log, arguments.layout, resources)
        .for_each(remarks, [&](std::string_view, std::string_view text) { take(text); });
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
  add_input_option(command, "-q,--queries", arguments.log, "FILE",
                   "The query log, plain or compressed; - is standard input")
      ->required();
  add_query_layout_options(command, arguments.layout, "Format of the log", QueryKinds::text_and_terms);
  arguments.plan.policy = all_cache_policies().front().name;
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
  add_size_option(command, "--list-buffer", arguments.plan.list_buffer_bytes,
                  "With --gpu-memory: leave room for two list buffers of this size, as queries with strategy wang and "
                  "--gpu-options list-buffer=SIZE have them",
                  1);
  add_option(command, "--max-admission", arguments.plan.max_admission, "L",
             "Largest share of a list to keep; at least one block is kept")
      ->check(max_admission_validator())
      ->capture_default_str();
  add_cache_options(command, arguments.plan);
  add_output_options(command, arguments.common, arguments.output, "plan");
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

namespace {

struct SimulateCacheArguments {
  CommonOptions common;
  api::PlanOptions cache;
  std::string index, log, train, plan;
  QueryLayout layout;
  std::vector<std::string> policies = names_of(all_cache_policies()), budgets = {"5%", "10%", "20%", "40%"};
  std::vector<double> max_admissions = {1};
  std::vector<std::size_t> ks = {10};
  std::uint64_t batch = 1024;
  std::optional<TransferLink> link;
  bool csv = false;
};

/// All figures, in the order in which they are printed.
Row row_of(const SimulatedCache& simulated, const std::optional<TransferLink>& link) {
  const CacheFigures& figures = simulated.figures;
  const double query_bytes = figures.transfer_bytes_per_query(), batch_bytes = figures.transfer_bytes_per_batch();
  const auto size = [](double bytes) { return size_text(static_cast<std::uint64_t>(bytes)); };
  Row row = {{"policy", simulated.policy, "policy"},
             {"", size_text(simulated.budget_bytes), "budget"},
             {"", ratio(simulated.cached_bytes, simulated.index_bytes), "share", "{:.1f} %", 100},
             {"budget_bytes", simulated.budget_bytes},
             {"max_admission", simulated.max_admission, "lambda"},
             {"k", simulated.k, "k"},
             {"cached_bytes", simulated.cached_bytes},
             {"index_bytes", simulated.index_bytes},
             {"queries", figures.queries},
             {"unknown_queries", figures.unknown},
             {"empty_queries", figures.empty},
             {"hit_rate", figures.hit_rate(), "lists", "{:.2f} %", 100},
             {"block_hit_rate", figures.block_hit_rate(), "blocks", "{:.2f} %", 100},
             {"served_queries", figures.served},
             {"", ratio(figures.served, figures.queries), "served", "{:.2f} %", 100},
             {"post_processed_queries", figures.post_processed},
             {"", ratio(figures.post_processed, figures.queries), "CPU", "{:.2f} %", 100},
             {"post_processed_postings", figures.post_processed_postings},
             {"transfer_bytes_per_query", query_bytes},
             {"", size(query_bytes), "transfer/query"},
             {"transfer_bytes_per_batch", batch_bytes},
             {"", size(batch_bytes), "transfer/batch"},
             {"batches", figures.batches}};
  if (!link) return row;
  // What transfers take, with lists transferred once per batch. Nothing else is counted, so that no GPU behind the link
  // answers more queries per second.
  const double us = link->us_per_byte() * static_cast<double>(figures.batch_transfer_bytes);
  const double rate = 1e6 * static_cast<double>(figures.queries) / us;  // infinite without transfers
  append(row, {{"link_gb_per_second", link->gigabytes_per_second},
               {"transfer_us_per_batch", link->us_per_byte() * batch_bytes, "ms/batch", "{:.2f}", 1e-3},
               {"most_queries_per_second", rate},
               {"", std::isfinite(rate) ? fmt::format("{:.0f}", rate) : "no limit", "most queries/s"}});
  return row;
}

/// All policies, budgets and lambdas, for each k.
std::vector<SimulatedCache> sweep(const SimulateCacheArguments& arguments, const QueryEngine& engine,
                                  const ReadQueries& read_log, const Resources& resources) {
  const CacheBlocks blocks = cache_blocks_for(engine, arguments.cache.caching_block, resources);
  SweepOptions options;
  options.ks = arguments.ks;
  options.policies = arguments.policies;
  options.max_admissions = arguments.max_admissions;
  options.demand = api::demand_options(arguments.cache);
  options.demand.queries = query_kind(arguments.layout.format);
  options.batch = arguments.batch;
  const std::uint64_t index_bytes = blocks.index_bytes();
  for (const std::string& budget : arguments.budgets)
    options.budgets_bytes.push_back(parse_budget(budget, index_bytes));
  const QueryLogFile train(arguments.train, arguments.layout, resources);
  const auto read_train = [&](LogQueries& queries) {
    train.for_each([&](std::string_view, std::string_view text) { queries.add(text); });
  };
  return sweep_policies(engine, blocks, read_train, read_log, options, resources);
}

void print_csv(const std::vector<Row>& rows) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::vector<std::string> names, values;
    const Json json = to_json(rows[i]);
    for (const auto& [name, value] : json.items()) {
      names.push_back(name);
      values.push_back(value.is_string() ? value.get<std::string>() : value.dump());
    }
    if (i == 0) print(fmt::format("{}\n", fmt::join(names, ",")));
    print(fmt::format("{}\n", fmt::join(values, ",")));
  }
}

/// Prints a table, --csv or --json.
void report(const SimulateCacheArguments& arguments, const IndexReader& index, std::string_view idf,
            const std::vector<Row>& rows) {
  if (arguments.csv) return print_csv(rows);
  if (arguments.common.json) {
    Json json = {
        {"bench", "cache"}, {"environment", describe_environment()}, {"indexes", {index_json(index)}}, {"idf", idf}};
    for (const Row& row : rows) json["results"].push_back(to_json(row));
    if (!arguments.plan.empty()) json.update(Json(json["results"][0]));  // the only ones, so also at the top
    return print_json(json);
  }
  FigureTable table;
  for (const Row& row : rows) table.add(row);
  print(table.take_text());
}

void run(const SimulateCacheArguments& arguments) {
  const Resources resources = make_resources(arguments.common);
  const IndexReader index = IndexReader::open(arguments.index);
  const QueryLogFile log(arguments.log, arguments.layout, resources);
  QueryRemarks log_remarks(arguments.common, arguments.layout.format);
  const auto read_log = [&](LogQueries& queries) {
    log.for_each(log_remarks, [&](std::string_view, std::string_view text) { queries.add(text); });
  };
  if (!arguments.plan.empty()) {
    const CachePlan plan = PlanReader::open(arguments.plan).load_for(index);
    LogQueries queries(index.manifest().analyzer, resources, query_kind(arguments.layout.format));
    read_log(queries);
    return report(arguments, index, plan.manifest.idf,
                  {row_of(simulate_plan(plan, index, queries, arguments.batch, resources), arguments.link)});
  }
  const QueryEngine engine(index, api::scoring_options(arguments.cache, index), resources.threads,
                           memory_of_log_queries(resources));
  api::remark_on_visits(engine, remarks(arguments.common));
  std::vector<Row> rows;
  for (const SimulatedCache& simulated : sweep(arguments, engine, read_log, resources))
    rows.push_back(row_of(simulated, arguments.link));
  report(arguments, index, name_of_value(idf_names, engine.options().idf), rows);
}

}  // namespace

void add_cache_simulation(CLI::App& simulate) {
  auto [command, arguments] = add_command<SimulateCacheArguments>(
      simulate, "cache", "Simulate what a plan, or a sweep of plans, saves on a query log", run);
  add_index_argument(command, arguments.index);
  add_input_option(command, "-q,--queries", arguments.log, "FILE", "The query log to simulate, plain or compressed")
      ->required();
  add_query_layout_options(command, arguments.layout, "Format of the logs", QueryKinds::text_and_terms);
  CLI::Option* plan = add_input_option(command, "--plan", arguments.plan, "FILE",
                                       "The plan, as written by quern plan, with its settings");
  require_one_of(
      command, plan,
      add_input_option(command, "--train", arguments.train, "FILE", "The log to make plans from, for a sweep"));
  add_name_option(command, "--policy", arguments.policies, all_cache_policies(), "Policies of a sweep (default: all)");
  add_option(command, "--budget", arguments.budgets, "SIZE|P%",
             "Budgets of a sweep: sizes such as 64M or shares such as 10% (default: 5%,10%,20%,40%)")
      ->check(budget_validator())
      ->delimiter(',');
  add_option(command, "--max-admission", arguments.max_admissions, "L",
             "Largest shares of a list to keep (lambda), for a sweep (default: 1)")
      ->check(max_admission_validator())
      ->delimiter(',');
  add_number_option(command, "--batch", arguments.batch, "N", "Queries per batch, whose lists are transferred together",
                    1, std::uint64_t{1} << 32);
  add_link_option(command, arguments.link,
                  "Also print how long transfers take over a link of this speed, in 10^9 bytes per second, and how "
                  "many queries per second it allows");
  add_cache_options(command, arguments.cache);
  command.remove_option(command.get_option("-k"));
  add_number_option(command, "-k", arguments.ks, "N", "Results per query, for a sweep (default: 10)", 1, end_docid);
  command.add_flag("--csv", arguments.csv, "Print figures as comma-separated values");
  command.add_flag("--json", arguments.common.json, "Print figures as JSON");
  add_common_options(command, arguments.common);
  add_resource_options(command, arguments.common);
  exclude_others(command, "--plan",
                 {"--queries", "--queries-format", "--id-field", "--text-field", "--batch", "--link", "--csv"});
  set_notes(
      command,
      {"A list without a cached part is transferred whole. If a query does not end within the cached blocks of its "
       "lists, the CPU completes it. Queries without results are skipped.",
       "Columns: budget; share of the index that is cached; lambda, the largest share of a list to keep; k; lists and "
       "blocks, the shares of list and block accesses that hit the cache; served, the share of queries that need no "
       "transfer; CPU, the share that the CPU completes; bytes transferred per query and per batch. With --link: "
       "milliseconds of transfers per batch, and the queries per second beyond which the link is too slow."},
      {{"quern simulate cache my.quern --plan my.plan -q later.gz"},
       {"quern simulate cache my.quern --train train.gz -q test.gz --budget 5%,10%,20% --max-admission 0.75,1 --json > "
        "cache.json"},
       {"quern simulate cache my.quern --train train.gz -q test.gz --batch 256 --link 55", "Behind PCIe 5"},
       {"scripts/plot cache.json -o plots"}});
}

}  // namespace quern::tools
