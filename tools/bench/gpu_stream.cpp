#include <fmt/format.h>

#include <memory>

#include "quern/measure/gpu/stream_bench.hpp"

#include "bench/bench.hpp"
#include "figures.hpp"
#include "gpu_options.hpp"
#include "query_options.hpp"

namespace quern::tools {
namespace {

struct BenchGpuStreamArguments {
  CommonOptions common;
  QuerySource queries;
  ScoringArguments scoring;
  std::string index, algorithm{all_algorithms().front().name};
  std::size_t k = 10;
  std::vector<double> rates = {1000, 10000, 100000};
  double wait_ms = 1;
  StreamOptions stream;
  GpuOptions gpu;
  GpuMemoryArguments gpu_memory;
};

void print_streams(const Json& json) {
  print(environment_line());
  print(fmt::format("{:>12}{:>12}{:>10}{:>34}\n{:>34}{:>10}{:>10}{:>10}{:>10}\n", "queries/s", "answered", "a batch",
                    "response times, us:", "", "median", "90 %", "95 %", "99 %"));
  for (const Json& row : json["streams"])
    print(fmt::format("{:>12.0f}{:>12.0f}{:>10.1f}{:>12.0f}{:>10.0f}{:>10.0f}{:>10.0f}\n",
                      row["offered_queries_per_second"].get<double>(), row["queries_per_second"].get<double>(),
                      row["queries_per_batch"].get<double>(), row["response"]["p50_us"].get<double>(),
                      row["response"]["p90_us"].get<double>(), row["response"]["p95_us"].get<double>(),
                      row["response"]["p99_us"].get<double>()));
}

void run(const BenchGpuStreamArguments& arguments) {
  const Resources resources = make_resources(arguments.common);
  const IndexReader index = IndexReader::open(arguments.index);
  const std::vector<Query> queries = read_queries(arguments.queries, arguments.common);
  const std::vector<std::string_view> texts = texts_of(queries);
  const QueryEngine engine(index, scoring_options(arguments.scoring, index));
  const QueryAlgorithm& algorithm = algorithm_named(arguments.algorithm);
  const GpuMemoryPlan gpu_memory(arguments.gpu_memory, index);
  GpuOptions gpu_options = arguments.gpu;
  gpu_options.memory = gpu_memory.options();
  GpuEngine gpu(engine, gpu_options, *resources.progress);
  StreamOptions options = arguments.stream;
  options.max_queries = arguments.gpu.batch_queries;
  options.wait = std::chrono::microseconds(static_cast<std::int64_t>(1000 * arguments.wait_ms));
  Json json = {{"bench", "gpu-stream"},
               {"environment", environment_json()},
               {"index", index_json(index)},
               {"algorithm", algorithm.name},
               {"k", arguments.k},
               {"batch_queries", options.max_queries},
               {"batch_wait_us", options.wait.count()}};
  resources.progress->start("streams", arguments.rates.size(), "streams");
  for (const double rate : arguments.rates) {
    options.queries_per_second = rate;
    const StreamFigures figures = measure_stream(gpu, texts, algorithm, arguments.k, options);
    const double batches = std::max<double>(1, static_cast<double>(figures.batches));
    json["streams"].push_back({{"offered_queries_per_second", rate},
                               {"queries", figures.queries},
                               {"queries_per_second", figures.queries_per_second},
                               {"queries_per_batch", static_cast<double>(figures.queries) / batches},
                               {"response", times_json(figures.response_us)}});
    resources.progress->add(1);
  }
  resources.progress->finish();
  if (arguments.common.json) return print(json.dump(1) + "\n");
  print_streams(json);
}

}  // namespace

void add_gpu_stream_bench(CLI::App& bench) {
  auto arguments = std::make_shared<BenchGpuStreamArguments>();
  arguments->gpu.batch_queries = arguments->stream.max_queries;
  CLI::App* command =
      bench.add_subcommand("gpu-stream", "Measure response times of queries that arrive at a GPU at random");
  add_index_argument(*command, arguments->index);
  add_query_source_options(*command, arguments->queries);
  add_name_option(*command, "-a,--algorithm", arguments->algorithm, all_algorithms(), "Query algorithm")
      ->capture_default_str();
  command->add_option("-k", arguments->k, "Results per query")
      ->type_name("N")
      ->check(range_validator(std::size_t{1}, gpu::max_results))
      ->capture_default_str();
  command->add_option("--rates", arguments->rates, "Mean queries per second")
      ->type_name("N")
      ->delimiter(',')
      ->check(range_validator(1.0, 1e8))
      ->capture_default_str();
  add_batch_option(*command, arguments->gpu.batch_queries);
  command->add_option("--batch-wait", arguments->wait_ms, "Longest time that a query waits for others, in milliseconds")
      ->type_name("MS")
      ->check(range_validator(0.0, 1e6))
      ->capture_default_str();
  command->add_option("--seconds", arguments->stream.seconds, "Length of each stream, in seconds")
      ->type_name("S")
      ->check(range_validator(0.01, 1e4))
      ->capture_default_str();
  add_scoring_options(*command, arguments->scoring);
  add_gpu_option(*command, arguments->gpu.gpu);
  add_gpus_option(*command, arguments->gpu.gpus);
  add_gpu_memory_options(*command, arguments->gpu_memory);
  add_tails_option(*command, arguments->gpu_memory);
  command->add_flag("--json", arguments->common.json, "Print figures as JSON");
  add_common_options(*command, arguments->common);
  set_notes(*command, {}, {{"quern bench gpu-stream my.quern -q log.txt --rates 10000,100000 --batch-wait 0.5"}});
  command->callback([arguments] { run(*arguments); });
}

}  // namespace quern::tools
