#include <fmt/format.h>

#include <deque>
#include <filesystem>

#include "quern/formats/plan_file.hpp"
#include "quern/gpu/device/device_info.hpp"
#include "quern/lab/gpu/gpu_bench.hpp"

#include "bench/bench.hpp"
#include "figures.hpp"
#include "gpu_options.hpp"
#include "query_options.hpp"

namespace quern::tools {
namespace {

/// Memory limits ("all": no limit) and plans ("none": no plan), all pairs of which are measured.
struct GpuMemoryCases {
  std::vector<std::string> limits = {"all"}, plans = {"none"};
  GpuMemoryArguments lists;  ///< how GPUs keep them and get them
};

struct BenchGpuArguments {
  CommonOptions common;
  QuerySource queries;
  ScoringArguments scoring;
  std::vector<std::string> shards;
  std::vector<std::string> algorithms = {"or", "bmw", "and"};
  std::vector<std::string> strategies = {std::string(gpu::all_strategies().front().name)};
  GpuBenchOptions bench;
  GpuMemoryCases gpu_memory;
  bool no_cpu = false;
  TimesOptions times;
};

/// All pairs of limits and plans, whose plans are read into `plans`. Throws like PlanReader, and InvalidArgument if
/// there are plans for several shards.
std::vector<GpuMemoryCase> cases_of(const GpuMemoryCases& arguments, const IndexShards& index,
                                    std::deque<CachePlan>& plans) {
  std::vector<const CachePlan*> read;
  for (const std::string& plan : arguments.plans) {
    if (plan != "none" && index.size() > 1)
      throw InvalidArgument("--plan {}: the benchmark takes plans only for a whole index, not for {} shards", plan,
                            index.size());
    read.push_back(plan == "none" ? nullptr : &plans.emplace_back(PlanReader::open(plan).load_for(index[0])));
  }
  std::vector<GpuMemoryCase> cases;
  for (const std::string& limit : arguments.limits)
    for (std::size_t i = 0; i < read.size(); ++i) {
      GpuMemoryArguments memory = arguments.lists;
      memory.limit = limit == "all" ? "" : limit;
      cases.push_back({limit, arguments.plans[i], memory_options(memory)});
      cases.back().memory.plan = read[i];
    }
  return cases;
}

/// --gpu-memory and --plan, which take several values.
void add_gpu_memory_options(CLI::App& command, GpuMemoryCases& arguments) {
  CLI::Validator budget = budget_validator();
  add_option(command, "--gpu-memory", arguments.limits, "SIZE|P%|all",
             std::string(gpu_memory_help) + "; all: the free memory, less a margin; a row for each")
      ->delimiter(',')
      ->check(checked_by([budget](std::string& text) { return text == "all" ? std::string() : budget(text); }))
      ->capture_default_str();
  add_input_option(command, "--plan", arguments.plans, "FILE|none",
                   std::string(plan_help) + "; none: no plan. A row for each")
      ->delimiter(',')
      ->capture_default_str();
}

/// The limit, and the plan if there is one.
std::string memory_text(const GpuBenchFigures& figures) {
  if (figures.plan == "none") return figures.memory_limit;
  return figures.memory_limit + " " + std::filesystem::path(figures.plan).filename().string();
}

Row row_of(const GpuBenchFigures& figures) {
  const auto queries = static_cast<double>(figures.queries);
  const std::optional<GpuBound>& bound = figures.bound;
  const double bound_share = bound ? bound->seconds / figures.kernel_seconds : 0;
  const Json cpu_rate = figures.cpu_seconds > 0 ? Json(queries / figures.cpu_seconds) : Json();
  Json statistics = gpu_json(figures.statistics);
  Row row = {{"strategy", figures.strategy->name, "strategy"},
             {"algorithm", figures.algorithm->name, "algorithm"},
             {"gpu_memory", figures.memory_limit},
             {"plan", figures.plan},
             {"", memory_text(figures), "memory"},
             {"", size_text(statistics["memory"]["all"].get<std::uint64_t>()), "used"},
             {"k", figures.k, "k"},
             {"gpus", figures.gpus, "GPUs"},
             {"batch_queries", figures.batch_queries, "batch"},
             {"queries", figures.queries},
             {"queries_per_second", queries / figures.seconds, "queries/s", "{:.0f}"},
             {"kernel_queries_per_second", queries / figures.kernel_seconds, "kernels only", "{:.0f}"},
             {"host_seconds", figures.host.all},
             {"busiest_thread_seconds", figures.host.busiest},
             {"", cpu_rate, "CPU", "{:.0f}"},
             {"postings_per_query", figures.postings / queries},
             {"postings_per_second", figures.postings / figures.kernel_seconds, "postings/s", "{:.1f}G", 1e-9},
             {"bound", bound ? Json(bound->name) : Json()},
             {"share", bound ? Json(bound_share) : Json()},
             {"", bound ? Json(fmt::format("{:.0f} % {}", 100 * bound_share, bound->name)) : Json(), "of the bound"},
             {"joules_per_1000_queries", figures.joules ? Json(1000 * *figures.joules / queries) : Json(), "J/1000",
              "{:.3g}"}};
  for (const auto& [key, value] : statistics.items()) {
    const std::string head = key == "on_cpu" ? "to CPU" : key == "run_again" ? "again" : "";
    row.push_back({key, value, head});
  }
  if (bound) row.push_back({"bound_queries_per_second", queries / bound->seconds});
  if (figures.wall_us) row.push_back({"wall", times_json(*figures.wall_us)});
  if (figures.device_us) row.push_back({"device", times_json(*figures.device_us)});
  if (figures.cpu_seconds > 0) {
    row.push_back({"cpu_queries_per_second", cpu_rate});
    row.push_back({"times_cpu", figures.cpu_seconds / figures.seconds});
    row.push_back({"kernel_times_cpu", figures.cpu_seconds / figures.kernel_seconds});
  }
  return row;
}

/// The times of queries that were asked one at a time.
void add_times_rows(const GpuBenchFigures& figures, BenchReport& report) {
  for (const auto& [clock, times] : {std::pair("wall", figures.wall_us), std::pair("device", figures.device_us)})
    if (times) {
      Row row = {{"", figures.algorithm->name, "one at a time"},
                 {"", figures.strategy->name, "strategy"},
                 {"", figures.k, "k"},
                 {"", clock, "clock"}};
      append(row, time_figures(*times, {"", "p50 us", "p90", "p95", "p99"}));
      report.add("", std::move(row));
    }
}

/// The output of --times, or null. Its rows don't name a memory, a number of GPUs or a shard, so only one of each is
/// allowed.
std::unique_ptr<TimesOutput> times_output(const BenchGpuArguments& arguments, const QueryEngine& engine,
                                          const GpuBenchOptions& options) {
  if (arguments.times.path.empty()) return nullptr;
  if (options.memories.size() != 1 || options.gpus.size() != 1 || arguments.shards.size() != 1)
    throw InvalidArgument("--times needs a single index, --gpu-memory, --plan and number of GPUs");
  auto output = std::make_unique<TimesOutput>(arguments.times, engine);
  output->times().gpu = list_gpus().at(options.gpu).name;
  return output;
}

void add_times(TimesOutput& output, const GpuBenchFigures& figures) {
  QueryTime like;
  like.device = Processor::gpu;
  like.algorithm = figures.algorithm->name;
  like.strategy = figures.strategy->name;
  like.k = figures.k;
  like.batch = figures.batch_queries;
  output.add(like, figures.each_query);
  // Rates are those of one GPU; single queries wait for each other and have none.
  if (figures.gpus == 1 && figures.batch_queries > 1 && figures.seconds > 0)
    output.times().rates.push_back(
        {like.algorithm, like.strategy, like.k, like.batch, static_cast<double>(figures.queries) / figures.seconds});
}

void run(const BenchGpuArguments& arguments) {
  for (const std::string& strategy : arguments.strategies) check_strategy(strategy, arguments.algorithms);
  const Resources resources = make_resources(arguments.common);
  require_gpu(arguments.bench.gpu);
  const IndexShards index = IndexShards::open(arguments.shards);
  const std::vector<Query> queries = read_queries(arguments.queries, arguments.common);
  std::vector<const QueryAlgorithm*> algorithms;
  for (const std::string& name : arguments.algorithms) algorithms.push_back(&algorithm_named(name));
  std::vector<const gpu::Strategy*> strategies;
  for (const std::string& name : arguments.strategies) strategies.push_back(&gpu::strategy_named(name));
  ShardEngines engines(index, arguments.scoring, arguments.queries);
  GpuBenchOptions options = arguments.bench;
  options.threads = resources.threads;
  options.cpu = !arguments.no_cpu;
  options.kind = query_kind(arguments.queries.layout.format);
  std::deque<CachePlan> plans;
  options.memories = cases_of(arguments.gpu_memory, index, plans);
  const std::unique_ptr<TimesOutput> times = times_output(arguments, engines.first(), options);
  options.each_query = times != nullptr;
  BenchReport report("gpu", arguments.common);
  report.json["index"] = index_json(index);
  report.json["scores"] = name_of_value(scores_names, arguments.scoring.scores);
  report.json["idf"] = name_of_value(idf_names, arguments.scoring.idf);
  report.json["shards"] = index.size();
  for (const GpuInfo& gpu : list_gpus()) report.json["gpus"].push_back(gpu.name);
  const std::span<const QueryEngine* const> shards = engines.backend().engines();
  const auto measured = measure_gpu({shards.begin(), shards.end()}, texts_of(queries), strategies, algorithms, options,
                                    *resources.progress);
  for (const GpuBenchFigures& figures : measured) {
    report.add("set_ups", row_of(figures));
    if (times) add_times(*times, figures);
  }
  if (times) times->finish();
  report.print_table();
  for (const GpuBenchFigures& figures : measured) add_times_rows(figures, report);
  report.print_table();
  report.finish();
}

}  // namespace

void add_gpu_bench(CLI::App& bench) {
  auto [command, arguments] =
      add_bench<BenchGpuArguments>(bench, "gpu", "Measure query speed on GPUs, compared with the CPU", run);
  add_shards_argument(command, arguments.shards)->required();
  add_query_source_options(command, arguments.queries, QueryKinds::text_and_vectors);
  add_name_option(command, "-a,--algorithms", arguments.algorithms, all_algorithms(), "Algorithms");
  add_name_option(command, "--strategies", arguments.strategies, gpu::all_strategies(),
                  "How GPUs find the results:" + gpu::strategies_help());
  add_settings_option(command, "--gpu-options", "GPU settings", [&arguments = arguments](CLI::App& settings) {
    add_thread_options(settings, arguments.bench.strategy_options);
    add_ranked_list_options(settings, arguments.gpu_memory.lists.lists);
  });
  add_number_option(command, "-k", arguments.bench.ks, "N", "Results per query", 1, gpu::max_results);
  add_number_option(command, "--batches", arguments.bench.batches, "N",
                    "Batch sizes; 1 answers queries one at a time and gives percentiles of their times", 1,
                    gpu::max_batch_queries);
  add_score_options(command, arguments.scoring);
  add_gpu_option(command, arguments.bench.gpu);
  add_gpu_memory_options(command, arguments.gpu_memory);
  add_gpu_counts_option(command, arguments.bench.gpus);
  add_repeats_option(command, arguments.bench.repeats, "Passes; the median time counts");
  command.add_flag("--no-cpu", arguments.no_cpu, "Don't measure the CPU, but still compare results with it");
  add_times_options(command, arguments.times);
  set_notes(command,
            {"Results are compared with the CPU's, bit for bit, before anything is measured. A strategy is measured "
             "only with its algorithms."},
            {{"quern bench gpu my.quern -q log.txt"},
             {"quern bench gpu my.quern -q log.txt -a or,bmw,and -k 10,1000 --batches 1,64,4096 --json"},
             {"quern bench gpu my.quern -q log.txt --strategies range,ding,partition,wang -a and"},
             {"quern bench gpu my.quern -q log.txt --gpus 1,2,4 --no-cpu"},
             {"quern bench gpu shard.1 shard.2 -q log.txt --gpus 2 --no-cpu", "each GPU has half of the documents"},
             {"quern bench gpu my.quern -q log.txt --batches 1,256 --times gpu.tsv"},
             {"quern bench gpu my.quern -q log.txt --gpu-memory all,20%,5% --plan none,my.plan"}});
}

}  // namespace quern::tools
