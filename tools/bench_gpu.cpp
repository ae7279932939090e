#include <fmt/format.h>

#include <memory>

#include "quern/gpu/device_info.hpp"
#include "quern/measure/gpu_bench.hpp"

#include "bench.hpp"
#include "query_source.hpp"
#include "scoring_options.hpp"

namespace quern::tools {
namespace {

struct Arguments {
  CommonOptions common;
  QuerySource queries;
  ScoringArguments scoring;
  std::string index;
  std::vector<std::string> algorithms = {"or", "bmw", "and"};
  std::vector<std::size_t> ks = {10}, batches = {4096};
  GpuBenchOptions bench;
  bool no_cpu = false;
};

Json figures_json(const GpuBenchFigures& figures) {
  const auto queries = static_cast<double>(figures.queries);
  Json json = {{"algorithm", figures.algorithm->name},
               {"k", figures.k},
               {"batch_queries", figures.batch_queries},
               {"queries", figures.queries},
               {"queries_per_second", queries / figures.seconds},
               {"kernel_queries_per_second", queries / figures.kernel_seconds},
               {"postings_per_query", static_cast<double>(figures.postings) / queries},
               {"postings_per_second", static_cast<double>(figures.postings) / figures.kernel_seconds},
               {"on_cpu", figures.statistics.on_cpu},
               {"run_again", figures.statistics.run_again},
               {"prepare_us", figures.statistics.prepare_us},
               {"upload_us", figures.statistics.device.upload_us},
               {"decode_us", figures.statistics.device.decode_us},
               {"unite_us", figures.statistics.device.unite_us},
               {"finish_us", figures.statistics.device.finish_us},
               {"download_us", figures.statistics.device.download_us}};
  if (figures.cpu_seconds > 0) {
    json["cpu_queries_per_second"] = queries / figures.cpu_seconds;
    json["times_cpu"] = figures.cpu_seconds / figures.seconds;
    json["kernel_times_cpu"] = figures.cpu_seconds / figures.kernel_seconds;
  }
  return json;
}

void print_table(const Json& json) {
  print(environment_line());
  print(fmt::format("{:<10}{:>6}{:>8}{:>12}{:>14}{:>12}{:>12}{:>10}{:>8}\n", "algorithm", "k", "batch", "queries/s",
                    "kernels only", "CPU", "postings/s", "to CPU", "again"));
  for (const Json& row : json["set_ups"])
    print(fmt::format("{:<10}{:>6}{:>8}{:>12.0f}{:>14.0f}{:>12.0f}{:>11.1f}G{:>10}{:>8}\n",
                      row["algorithm"].get<std::string>(), row["k"].get<std::size_t>(),
                      row["batch_queries"].get<std::size_t>(), row["queries_per_second"].get<double>(),
                      row["kernel_queries_per_second"].get<double>(), row.value("cpu_queries_per_second", 0.0),
                      billions(row["postings_per_second"].get<double>()), row["on_cpu"].get<std::uint64_t>(),
                      row["run_again"].get<std::uint64_t>()));
}

void run(const Arguments& arguments) {
  const Resources resources = make_resources(arguments.common);
  const IndexReader index = IndexReader::open(arguments.index);
  const std::vector<Query> queries = read_queries(arguments.queries);
  std::vector<std::string_view> texts;
  for (const Query& query : queries) texts.push_back(query.text);
  std::vector<const QueryAlgorithm*> algorithms;
  for (const std::string& name : arguments.algorithms) algorithms.push_back(&algorithm_named(name));
  const QueryEngine engine(index, scoring_options(arguments.scoring, index));
  GpuBenchOptions options = arguments.bench;
  options.threads = resources.threads;
  options.cpu = !arguments.no_cpu;
  Json json = {{"bench", "gpu"},
               {"environment", environment_json()},
               {"index", index_json(index)},
               {"scores", arguments.scoring.scores}};
  for (const GpuInfo& gpu : list_gpus()) json["gpus"].push_back(gpu.name);
  for (const GpuBenchFigures& figures :
       measure_gpu(engine, texts, algorithms, arguments.ks, arguments.batches, options, *resources.progress))
    json["set_ups"].push_back(figures_json(figures));
  if (arguments.common.json) return print(json.dump(1) + "\n");
  print_table(json);
}

}  // namespace

void add_gpu_bench(CLI::App& bench) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = bench.add_subcommand("gpu", "How fast a GPU answers queries, beside the CPU");
  command->add_option("INDEX", arguments->index, "An index")->type_name("")->required();
  add_query_source_options(*command, arguments->queries);
  std::vector<std::string> names;
  for (const QueryAlgorithm& algorithm : all_algorithms()) names.emplace_back(algorithm.name);
  command->add_option("-a,--algorithms", arguments->algorithms, "Algorithms: " + joined(names))
      ->type_name("NAME")
      ->delimiter(',')
      ->check(name_validator(names))
      ->capture_default_str();
  command->add_option("-k", arguments->ks, "Results a query")
      ->type_name("N")
      ->delimiter(',')
      ->check(range_validator(std::size_t{1}, gpu::most_results))
      ->capture_default_str();
  command->add_option("--batches", arguments->batches, "Queries that are answered together")
      ->type_name("N")
      ->delimiter(',')
      ->check(range_validator(std::size_t{1}, std::size_t{65535}))
      ->capture_default_str();
  add_scoring_options(*command, arguments->scoring);
  command->add_option("--gpu", arguments->bench.gpu, "Number of the GPU")->type_name("N")->capture_default_str();
  command->add_option("--repeats", arguments->bench.repeats, "Times are the median of so many passes")
      ->type_name("N")
      ->check(range_validator(1u, 1000u))
      ->capture_default_str();
  command->add_flag("--no-cpu", arguments->no_cpu, "Don't measure the CPU; results are still compared with its");
  command->add_flag("--json", arguments->common.json, "Print JSON");
  add_common_options(*command, arguments->common);
  command->footer(
      "\nResults are compared with the CPU's, bit by bit, before anything is measured.\n"
      "\nExamples:\n  quern bench gpu my.quern -q log.txt\n"
      "  quern bench gpu my.quern -q log.txt -a or,bmw,and -k 10,1000 --batches 1,64,4096 --json");
  command->callback([arguments] { run(*arguments); });
}

}  // namespace quern::tools
