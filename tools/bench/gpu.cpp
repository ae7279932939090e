#include <fmt/format.h>

#include <deque>
#include <filesystem>
#include <memory>

#include "quern/core/size_text.hpp"
#include "quern/formats/plan_file.hpp"
#include "quern/gpu/device/device_info.hpp"
#include "quern/lab/environment.hpp"
#include "quern/lab/gpu/gpu_bench.hpp"

#include "bench/bench.hpp"
#include "cache_options.hpp"
#include "figures.hpp"
#include "gpu_options.hpp"
#include "query_options.hpp"

namespace quern::tools {
namespace {

/// What is measured one after another: each limit of memory, or "all", with each plan, or "none".
struct GpuMemoryCases {
  std::vector<std::string> limits = {"all"}, plans = {"none"};
  GpuMemoryArguments lists;  ///< how GPUs keep them and get them
};

struct BenchGpuArguments {
  CommonOptions common;
  QuerySource queries;
  ScoringArguments scoring;
  std::string index;
  std::vector<std::string> algorithms = {"or", "bmw", "and"};
  std::vector<std::string> strategies = {std::string(gpu::all_strategies().front().name)};
  GpuBenchOptions bench;
  GpuMemoryCases gpu_memory;
  bool no_cpu = false;
  TimesOptions times;
};

/// All cases, with the plans that they name, which are read when this is made.
class GpuMemoryPlans {
 public:
  /// Throws as GpuMemoryPlan does.
  GpuMemoryPlans(const GpuMemoryCases& arguments, const IndexReader& index) {
    std::vector<const CachePlan*> plans;
    for (const std::string& plan : arguments.plans)
      plans.push_back(plan == "none" ? nullptr : &plans_.emplace_back(PlanReader::open(plan).load_for(index)));
    for (const std::string& limit : arguments.limits)
      for (std::size_t i = 0; i < plans.size(); ++i)
        cases_.push_back({limit, arguments.plans[i], memory_options(limit, plans[i], arguments.lists)});
  }
  GpuMemoryPlans(const GpuMemoryPlans&) = delete;
  GpuMemoryPlans& operator=(const GpuMemoryPlans&) = delete;
  /// Valid as long as this object.
  const std::vector<GpuMemoryCase>& cases() const { return cases_; }

 private:
  static gpu::GpuMemoryOptions memory_options(const std::string& limit, const CachePlan* plan,
                                              const GpuMemoryArguments& lists) {
    gpu::GpuMemoryOptions options = gpu_memory_limit(limit == "all" ? "" : limit);
    options.plan = plan;
    options.retention = lists.retention;
    options.tails = lists.tails;
    options.transfers = lists.transfers;
    return options;
  }

  std::deque<CachePlan> plans_;
  std::vector<GpuMemoryCase> cases_;
};

/// --gpu-memory and --plan, which take several values, --cache, --transfers and --tails.
void add_gpu_memory_options(CLI::App& command, GpuMemoryCases& arguments) {
  CLI::Validator budget = budget_validator();
  command
      .add_option("--gpu-memory", arguments.limits,
                  std::string(gpu_memory_help) + "; all: the free memory, less a margin; a row for each")
      ->type_name("SIZE|P%|all")
      ->delimiter(',')
      ->check(CLI::Validator([budget](std::string& text) { return text == "all" ? std::string() : budget(text); }, ""))
      ->capture_default_str();
  command.add_option("--plan", arguments.plans, std::string(plan_help) + "; none: no plan. A row for each")
      ->type_name("FILE|none")
      ->delimiter(',')
      ->capture_default_str();
  add_list_options(command, arguments.lists.retention, arguments.lists.transfers);
  add_tails_option(command, arguments.lists);
}

Json figures_json(const GpuBenchFigures& figures) {
  const auto queries = static_cast<double>(figures.queries);
  Json json = {{"strategy", figures.strategy->name},
               {"algorithm", figures.algorithm->name},
               {"gpu_memory", figures.memory_limit},
               {"plan", figures.plan},
               {"k", figures.k},
               {"gpus", figures.gpus},
               {"batch_queries", figures.batch_queries},
               {"queries", figures.queries},
               {"queries_per_second", queries / figures.seconds},
               {"kernel_queries_per_second", queries / figures.kernel_seconds},
               {"postings_per_query", figures.postings / queries},
               {"postings_per_second", figures.postings / figures.kernel_seconds}};
  json.update(gpu_json(figures.statistics));
  json["bound"] = nullptr;
  json["share"] = nullptr;
  if (figures.bound) {
    json["bound"] = figures.bound->name;
    json["bound_queries_per_second"] = queries / figures.bound->seconds;
    json["share"] = figures.bound->seconds / figures.kernel_seconds;
  }
  json["joules_per_1000_queries"] = nullptr;
  if (figures.joules) json["joules_per_1000_queries"] = 1000 * *figures.joules / queries;
  if (figures.wall_us) json["wall"] = times_json(*figures.wall_us);
  if (figures.device_us) json["device"] = times_json(*figures.device_us);
  if (figures.cpu_seconds > 0) {
    json["cpu_queries_per_second"] = queries / figures.cpu_seconds;
    json["times_cpu"] = figures.cpu_seconds / figures.seconds;
    json["kernel_times_cpu"] = figures.cpu_seconds / figures.kernel_seconds;
  }
  return json;
}

/// A figure, or a dash if there is none.
std::string text_of(const Json& figure, const char* form) {
  return figure.is_null() ? "-" : fmt::format(fmt::runtime(form), figure.get<double>());
}

/// The limit, and the plan if there is one.
std::string memory_text(const Json& row) {
  const auto limit = row["gpu_memory"].get<std::string>(), plan = row["plan"].get<std::string>();
  return plan == "none" ? limit : limit + " " + std::filesystem::path(plan).filename().string();
}

void print_table(const Json& json) {
  print(environment_line());
  print(fmt::format("{:<11}{:<10}{:>18}{:>10}{:>6}{:>5}{:>7}{:>12}{:>14}{:>10}{:>12}{:>20}{:>10}{:>8}{:>7}\n",
                    "strategy", "algorithm", "memory", "used", "k", "GPUs", "batch", "queries/s", "kernels only", "CPU",
                    "postings/s", "of the bound", "J/1000", "to CPU", "again"));
  for (const Json& row : json["set_ups"]) {
    const std::string bound = row["bound"].is_null() ? "-"
                                                     : fmt::format("{:.0f} % {}", 100 * row["share"].get<double>(),
                                                                   row["bound"].get<std::string>());
    print(fmt::format(
        "{:<11}{:<10}{:>18}{:>10}{:>6}{:>5}{:>7}{:>12.0f}{:>14.0f}{:>10.0f}{:>11.1f}G{:>20}{:>10}{:>8}{:>7}\n",
        row["strategy"].get<std::string>(), row["algorithm"].get<std::string>(), memory_text(row),
        size_text(row["memory"]["all"].get<std::uint64_t>()), row["k"].get<std::size_t>(),
        row["gpus"].get<std::size_t>(), row["batch_queries"].get<std::size_t>(),
        row["queries_per_second"].get<double>(), row["kernel_queries_per_second"].get<double>(),
        row.value("cpu_queries_per_second", 0.0), billions(row["postings_per_second"].get<double>()), bound,
        text_of(row["joules_per_1000_queries"], "{:.3g}"), row["on_cpu"].get<std::uint64_t>(),
        row["run_again"].get<std::uint64_t>()));
  }
  for (const Json& row : json["set_ups"]) {
    if (!row.contains("wall")) continue;
    for (const char* clock : {"wall", "device"}) {
      const Json& times = row[clock];
      print(
          fmt::format("{} by {}, k {}, one at a time, {} time: {:.1f} us at the median, {:.1f} at the 90th percentile, "
                      "{:.1f} at the 95th, {:.1f} at the 99th\n",
                      row["algorithm"].get<std::string>(), row["strategy"].get<std::string>(),
                      row["k"].get<std::size_t>(), clock, times["p50_us"].get<double>(), times["p90_us"].get<double>(),
                      times["p95_us"].get<double>(), times["p99_us"].get<double>()));
    }
  }
}

/// The file of times, if one is asked for: its rows don't name a memory or a number of GPUs, so there can be only one.
std::unique_ptr<TimesOutput> times_output(const BenchGpuArguments& arguments, const QueryEngine& engine,
                                          const GpuBenchOptions& options) {
  if (arguments.times.path.empty()) return nullptr;
  if (options.memories.size() != 1 || options.gpus.size() != 1)
    throw InvalidArgument("--times needs a single --gpu-memory, --plan and number of GPUs");
  const std::string scores(name_of_value(scores_names, arguments.scoring.scores));
  auto output = std::make_unique<TimesOutput>(arguments.times, engine.index(), scores + " scores");
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
  // Of one GPU; and single queries are asked one after another.
  if (figures.gpus == 1 && figures.batch_queries > 1 && figures.seconds > 0)
    output.times().rates.push_back(
        {like.algorithm, like.strategy, like.k, like.batch, static_cast<double>(figures.queries) / figures.seconds});
}

void run(const BenchGpuArguments& arguments) {
  for (const std::string& strategy : arguments.strategies) check_strategy(strategy, arguments.algorithms);
  const Resources resources = make_resources(arguments.common);
  const IndexReader index = IndexReader::open(arguments.index);
  const std::vector<Query> queries = read_queries(arguments.queries, arguments.common);
  std::vector<const QueryAlgorithm*> algorithms;
  for (const std::string& name : arguments.algorithms) algorithms.push_back(&algorithm_named(name));
  std::vector<const gpu::Strategy*> strategies;
  for (const std::string& name : arguments.strategies) strategies.push_back(&gpu::strategy_named(name));
  const QueryEngine engine(index, scoring_options(arguments.scoring, index, arguments.queries));
  const ParsedQueries read =
      engine.reader(query_kind(arguments.queries.format)).read(texts_of(queries), resources.threads);
  GpuBenchOptions options = arguments.bench;
  options.threads = resources.threads;
  options.cpu = !arguments.no_cpu;
  const GpuMemoryPlans gpu_memory(arguments.gpu_memory, index);
  options.memories = gpu_memory.cases();
  const std::unique_ptr<TimesOutput> times = times_output(arguments, engine, options);
  options.each_query = times != nullptr;
  Json json = {{"bench", "gpu"},
               {"environment", environment_json()},
               {"index", index_json(index)},
               {"scores", name_of_value(scores_names, arguments.scoring.scores)}};
  for (const GpuInfo& gpu : list_gpus()) json["gpus"].push_back(gpu.name);
  for (const GpuBenchFigures& figures :
       measure_gpu(engine, read.views(), strategies, algorithms, options, *resources.progress)) {
    json["set_ups"].push_back(figures_json(figures));
    if (times) add_times(*times, figures);
  }
  if (times) times->finish();
  if (arguments.common.json) return print(json.dump(1) + "\n");
  print_table(json);
}

}  // namespace

void add_gpu_bench(CLI::App& bench) {
  auto arguments = std::make_shared<BenchGpuArguments>();
  CLI::App* command = bench.add_subcommand("gpu", "Measure query speed on GPUs, compared with the CPU");
  add_index_argument(*command, arguments->index);
  add_query_source_options(*command, arguments->queries, QueryKinds::text_and_vectors);
  add_name_option(*command, "-a,--algorithms", arguments->algorithms, all_algorithms(), "Algorithms")
      ->delimiter(',')
      ->capture_default_str();
  add_strategy_options(*command, arguments->strategies, arguments->bench.strategy_options);
  add_number_option(*command, "-k", arguments->bench.ks, "N", "Results per query", 1, gpu::max_results);
  add_number_option(*command, "--batches", arguments->bench.batches, "N",
                    "Batch sizes; 1 answers queries one at a time and gives percentiles of their times", 1,
                    gpu::max_batch_queries);
  add_scoring_options(*command, arguments->scoring);
  add_gpu_option(*command, arguments->bench.gpu);
  add_gpu_memory_options(*command, arguments->gpu_memory);
  command->add_option("--gpus", arguments->bench.gpus, "Numbers of GPUs to measure with, or all")
      ->type_name("N")
      ->delimiter(',')
      ->transform(gpus_validator())
      ->capture_default_str();
  add_repeats_option(*command, arguments->bench.repeats, "Passes; the median time counts");
  command->add_flag("--no-cpu", arguments->no_cpu, "Don't measure the CPU, but still compare results with it");
  add_times_options(*command, arguments->times);
  command->add_flag("--json", arguments->common.json, "Print figures as JSON");
  add_common_options(*command, arguments->common);
  set_notes(*command,
            {"Results are compared with the CPU's, bit by bit, before anything is measured. Algorithms that a strategy "
             "does not support are skipped for it."},
            {{"quern bench gpu my.quern -q log.txt"},
             {"quern bench gpu my.quern -q log.txt -a or,bmw,and -k 10,1000 --batches 1,64,4096 --json"},
             {"quern bench gpu my.quern -q log.txt --strategies range,ding,partition,wang -a and"},
             {"quern bench gpu my.quern -q log.txt --gpus 1,2,4 --no-cpu"},
             {"quern bench gpu my.quern -q log.txt --batches 1,256 --times gpu.tsv"},
             {"quern bench gpu my.quern -q log.txt --gpu-memory all,20%,5% --plan none,my.plan"}});
  command->callback([arguments] { run(*arguments); });
}

}  // namespace quern::tools
