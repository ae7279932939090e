#include <fmt/format.h>

#include <memory>

#include "quern/gpu/device/device_info.hpp"
#include "quern/lab/gpu/gpu_intersect_bench.hpp"

#include "bench/bench.hpp"
#include "figures.hpp"
#include "gpu_options.hpp"
#include "query_options.hpp"

namespace quern::tools {
namespace {

using gpu::ResultTransfer;

constexpr NamedValue<ResultTransfer> transfers_of_results[] = {
    {"packed", ResultTransfer::packed}, {"whole", ResultTransfer::whole}, {"single", ResultTransfer::single}};

struct BenchGpuIntersectArguments {
  CommonOptions common;
  QuerySource queries;
  std::string index;
  std::vector<std::string> methods = names_of(all_gpu_intersection_methods());
  std::vector<std::string> cpu_methods = {std::string(all_intersection_methods().front().name)};
  std::vector<bool> bucketing;
  std::vector<ResultTransfer> transfers;
  std::vector<std::size_t> batches = {GpuIntersectionOptions().batch_queries};
  std::vector<unsigned> levels = {GpuIntersectionOptions().levels};
  std::vector<unsigned> gpus = {1};
  unsigned gpu = 0, repeats = 3;
  GpuMemoryArguments gpu_memory;
};

/// Each method with each of the settings it supports, or with its defaults.
std::vector<GpuIntersectSetUp> set_ups_of(const BenchGpuIntersectArguments& arguments,
                                          const gpu::GpuMemoryOptions& memory) {
  std::vector<GpuIntersectSetUp> all;
  for (const std::string& name : arguments.methods) {
    const GpuIntersectionMethod& method = gpu_intersection_method_named(name);
    std::vector<unsigned> levels = arguments.levels;
    if (!method.uses_levels) levels.resize(1);
    std::vector<bool> bucketing = arguments.bucketing;
    if (bucketing.empty()) bucketing = {method.bucketing};
    std::vector<ResultTransfer> transfers = arguments.transfers;
    if (transfers.empty() || !method.any_transfer) transfers = {method.transfer};
    for (const unsigned gpus : arguments.gpus)
      for (const std::size_t batch : arguments.batches)
        for (const unsigned level : levels)
          for (const bool is_bucketed : bucketing)
            for (const ResultTransfer transfer : transfers) {
              GpuIntersectionOptions options;
              options.gpu = arguments.gpu;
              options.memory = memory;
              options.gpus = gpus;
              options.batch_queries = batch;
              options.levels = level;
              options.bucketing = is_bucketed;
              options.transfer = transfer;
              all.push_back({&method, options});
            }
  }
  return all;
}

Json set_up_json(const GpuIntersectFigures& figures, const GpuIntersectReport& report) {
  const auto queries = static_cast<double>(report.queries), postings = static_cast<double>(report.postings);
  const GpuIntersectionOptions& options = figures.set_up.options;
  Json json = {{"method", figures.set_up.method->name},
               {"gpus", figures.gpus},
               {"batch_queries", options.batch_queries},
               {"bucketing", *options.bucketing},
               {"transfer", name_of_value(transfers_of_results, *options.transfer)},
               {"queries_per_second", queries / figures.seconds},
               {"kernel_queries_per_second", queries / figures.kernel_seconds},
               {"kernel_postings_per_second", postings / figures.kernel_seconds},
               {"first_pass_queries_per_second", queries / figures.first_seconds},
               {"first_pass", gpu_statistics_json(figures.first)},
               {"last_pass", gpu_statistics_json(figures.last)}};
  if (figures.set_up.method->uses_levels) json["levels"] = options.levels;
  return json;
}

Json report_json(const GpuIntersectReport& report, unsigned threads) {
  const auto queries = static_cast<double>(report.queries), postings = static_cast<double>(report.postings);
  Json json = {{"queries", report.queries},
               {"results", report.results},
               {"postings", report.postings},
               {"index_bytes", report.index_bytes}};
  for (const CpuIntersectFigures& figures : report.cpu)
    json["cpu"].push_back({{"method", figures.method->name},
                           {"threads", threads},
                           {"queries_per_second", queries / figures.seconds},
                           {"postings_per_second", postings / figures.seconds}});
  for (const GpuIntersectFigures& figures : report.gpu) json["gpu"].push_back(set_up_json(figures, report));
  return json;
}

void print_table(const BenchGpuIntersectArguments& arguments, const Json& json) {
  const auto number = [](const Json& row, const char* key) { return row[key].get<double>(); };
  const double queries = number(json, "queries");
  print(environment_line());
  print(fmt::format("{}: {:.0f} queries of {:.0f} postings, {:.1f} documents each\n", arguments.index, queries,
                    number(json, "postings") / queries, number(json, "results") / queries));
  for (const Json& row : json["cpu"])
    print(fmt::format("CPU, {} on {} threads: {:.0f} queries/s, {:.1f} billion postings/s\n",
                      row["method"].get<std::string>(), row["threads"].get<unsigned>(),
                      number(row, "queries_per_second"), billions(number(row, "postings_per_second"))));
  print(fmt::format("{:<16}{:>5}{:>7}{:>8}{:>10}{:>10}{:>11}{:>13}{:>9}{:>12}{:>12}{:>12}{:>9}\n", "method", "GPUs",
                    "levels", "batch", "by length", "transfer", "queries/s", "kernels only", "G/s", "response ms",
                    "longest ms", "first pass", "to CPU"));
  for (const Json& row : json["gpu"]) {
    const Json& last = row["last_pass"];
    print(fmt::format("{:<16}{:>5}{:>7}{:>8}{:>10}{:>10}{:>11.0f}{:>13.0f}{:>9.1f}{:>12.3f}{:>12.3f}{:>12.0f}{:>9}\n",
                      row["method"].get<std::string>(), row["gpus"].get<std::size_t>(),
                      row.contains("levels") ? fmt::format("{}", row["levels"].get<unsigned>()) : "-",
                      row["batch_queries"].get<std::size_t>(), row["bucketing"].get<bool>() ? "yes" : "no",
                      row["transfer"].get<std::string>(), number(row, "queries_per_second"),
                      number(row, "kernel_queries_per_second"), billions(number(row, "kernel_postings_per_second")),
                      number(last, "mean_response_us") / 1000, number(last, "longest_response_us") / 1000,
                      number(row, "first_pass_queries_per_second"), last["on_cpu"].get<std::uint64_t>()));
  }
}

void run(const BenchGpuIntersectArguments& arguments) {
  const Resources resources = make_resources(arguments.common);
  require_gpu(arguments.gpu);
  Json json = {{"bench", "gpu-intersect"}, {"environment", environment_json()}};  // its load is that before the work
  const std::vector<Query> queries = read_queries(arguments.queries, arguments.common);
  const IndexReader index = IndexReader::open(arguments.index);
  const ParsedQueries read = QueryReader(index.manifest().analyzer, query_kind(arguments.queries.format))
                                 .read(texts_of(queries), resources.threads);
  const GpuMemoryPlan gpu_memory(arguments.gpu_memory, index);
  std::vector<const IntersectionMethod*> cpu_methods;
  for (const std::string& name : arguments.cpu_methods) cpu_methods.push_back(&intersection_method_named(name));
  const GpuIntersectReport report =
      measure_gpu_intersections(index, read.views(), cpu_methods, set_ups_of(arguments, gpu_memory.options()),
                                resources.threads, arguments.repeats, *resources.progress);
  json["index"] = index_json(index);
  for (const GpuInfo& gpu : list_gpus()) json["gpus"].push_back(gpu.name);
  json.update(report_json(report, resources.threads));
  if (arguments.common.json) return print(json.dump(1) + "\n");
  print_table(arguments, json);
}

}  // namespace

void add_gpu_intersect_bench(CLI::App& bench) {
  auto arguments = std::make_shared<BenchGpuIntersectArguments>();
  CLI::App* command =
      bench.add_subcommand("gpu-intersect", "Measure intersection speed on a GPU by method, compared with the CPU");
  command->add_option("INDEX", arguments->index, "The index, as written by quern index, build, import or synth")
      ->type_name("")
      ->required();
  add_query_source_options(*command, arguments->queries, QueryKinds::text_and_terms);
  add_name_option(*command, "--methods", arguments->methods, all_gpu_intersection_methods(),
                  with_choices("GPU methods (default: all):", all_gpu_intersection_methods()))
      ->delimiter(',');
  add_name_option(*command, "--cpu-methods", arguments->cpu_methods, all_intersection_methods(),
                  "CPU methods, on all threads")
      ->delimiter(',')
      ->capture_default_str();
  add_number_option(*command, "--batches", arguments->batches, "N", "Sizes of batches; a row for each", 1,
                    gpu::max_batch_queries);
  add_number_option(*command, "--levels", arguments->levels, "N", "For merge-find: levels of splitters; a row for each",
                    0u, gpu::max_merge_find_levels);
  add_value_option(*command, "--bucketing", arguments->bucketing, switches,
                   "Group queries into batches by the length of their shortest lists (default: on for batched)");
  add_value_option(
      *command, "--transfer", arguments->transfers, transfers_of_results,
      "For batched and hash-segments: how results are transferred (default: whole for batched, else packed)");
  add_gpu_option(*command, arguments->gpu);
  add_gpu_memory_options(*command, arguments->gpu_memory);
  add_list_options(*command, arguments->gpu_memory.retention, arguments->gpu_memory.transfers);
  command
      ->add_option("--gpus", arguments->gpus,
                   "Numbers of GPUs to measure with, starting with --gpu, or all; a row for each")
      ->type_name("N")
      ->delimiter(',')
      ->transform(gpus_validator())
      ->capture_default_str();
  add_repeats_option(*command, arguments->repeats, "Passes; the median time counts");
  command->add_flag("--json", arguments->common.json, "Print figures as JSON");
  add_common_options(*command, arguments->common);
  set_notes(*command,
            {"All methods must find the same documents, or nothing is measured. Times cover everything from query text "
             "to documents in host memory. G/s are billions of postings in the queries' lists per second of kernel "
             "time. The response time of a batch is the time from its texts to its documents, while another batch is "
             "in progress. Methods that unpack lists do so in the first pass."},
            {{"quern bench gpu-intersect my.quern -q log.txt"},
             {"quern bench gpu-intersect my.quern -q log.txt --methods batched --batches 64,1024 --bucketing on,off"},
             {"quern bench gpu-intersect my.quern -q log.txt --methods merge-find --levels 0,1,2,3,4 --json"}});
  command->callback([arguments] { run(*arguments); });
}

}  // namespace quern::tools
