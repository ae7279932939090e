#include <fmt/format.h>

#include "quern/gpu/device/device_info.hpp"
#include "quern/lab/gpu/gpu_intersect_bench.hpp"
#include "quern/lab/query_bench.hpp"

#include "bench/bench.hpp"
#include "figures.hpp"
#include "gpu_options.hpp"
#include "query_options.hpp"

namespace quern::tools {
namespace {

struct BenchIntersectArguments {
  CommonOptions common;
  QuerySource queries;
  std::string index;
  std::vector<std::string> methods = names_of(all_intersection_methods());
  std::vector<unsigned> segments = {IntersectionOptions().segment};
  unsigned repeats = 5;
};

/// The chosen methods; stride with each length of segments.
std::vector<Intersection> intersections(const BenchIntersectArguments& arguments, const IndexReader& index) {
  std::vector<Intersection> all;
  for (const std::string& name : arguments.methods) {
    const IntersectionMethod& method = intersection_method_named(name);
    for (const unsigned segment : arguments.segments) {
      if (!method.uses_segment && segment != arguments.segments.front()) continue;
      all.emplace_back(index, method, IntersectionOptions{segment});
    }
  }
  return all;
}

Row row_of(const IntersectionFigures& figures) {
  const auto queries = static_cast<double>(figures.queries);
  const IntersectionMethod& method = figures.intersection->method();
  const unsigned segment = figures.intersection->options().segment;
  Row row = {{"method", method.name},
             {"", method.uses_segment ? fmt::format("{} of {}", method.name, segment) : method.name, "method"},
             {"queries", figures.queries},
             {"results", figures.results},
             {"mean_us", figures.times.mean_us, "mean us", "{:.1f}"},
             {"mean_decode_us", figures.decode_us / queries, "decode", "{:.1f}"},
             {"mean_thin_out_us", figures.intersect_us / queries, "intersect", "{:.1f}"},
             {"p50_us", figures.times.p50_us, "p50", "{:.1f}"},
             {"p90_us", figures.times.p90_us},
             {"p95_us", figures.times.p95_us},
             {"p99_us", figures.times.p99_us, "p99", "{:.1f}"},
             {"effective_postings_per_second", figures.postings_per_second(), "G/s", "{:.2f}", 1e-9},
             {"thin_out_postings_per_second", figures.intersected_per_second(), "G/s intersect", "{:.2f}", 1e-9},
             {"blocks_decoded_share", ratio(figures.counts.blocks_decoded, figures.counts.blocks), "decoded",
              "{:.1f} %", 100}};
  if (method.uses_segment) row.push_back({"segment", segment});
  return row;
}

void run(const BenchIntersectArguments& arguments) {
  const Resources resources = make_resources(arguments.common);
  BenchReport report("intersect", arguments.common);
  const std::vector<Query> queries = read_queries(arguments.queries, arguments.common);
  const IndexReader index = IndexReader::open(arguments.index);
  const std::vector<Intersection> chosen = intersections(arguments, index);
  const ParsedQueries read =
      chosen.front().reader(query_kind(arguments.queries.layout.format)).read(texts_of(queries), resources.threads);
  const auto measured = measure_intersections(read.views(), chosen, arguments.repeats, *resources.progress);
  const IntersectionFigures& first = measured.front();
  report.json["index"] = index_json(index);
  report.json["repeats"] = arguments.repeats;
  report.json["postings"] = first.counts.postings;
  report.say("{}: {} queries of {:.0f} postings, {:.1f} documents each\n", arguments.index, first.queries,
             ratio(first.counts.postings, first.queries), ratio(first.results, first.queries));
  for (const IntersectionFigures& figures : measured) report.add("results", row_of(figures));
  report.print_table();
  report.finish();
}

}  // namespace

void add_intersect_bench(CLI::App& bench) {
  auto [command, arguments] =
      add_bench<BenchIntersectArguments>(bench, "intersect", "Measure intersection speed by method", run);
  add_index_argument(command, arguments.index);
  add_query_source_options(command, arguments.queries, QueryKinds::text_and_terms);
  add_name_option(command, "--method", arguments.methods, all_intersection_methods(), "Methods (default: all)");
  add_number_option(command, "--segment", arguments.segments, "N", "For stride: docIDs per segment; a row for each", 1u,
                    1u << 30);
  add_repeats_option(command, arguments.repeats, "Repetitions of each query; the median time counts");
  set_notes(
      command,
      {"All methods must find the same documents, or nothing is measured. Times are those of one thread. G/s is the "
       "effective rate in billions of postings per second: postings in the queries' lists divided by the time from "
       "text to documents, or by the time for intersecting only, which for block-skipping includes decoding."},
      {{"quern bench intersect my.quern -q log.txt --segment 8,32,128"}});
}

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

Row set_up_row(const GpuIntersectFigures& figures, const GpuIntersectReport& report) {
  const auto queries = static_cast<double>(report.queries), postings = static_cast<double>(report.postings);
  const GpuIntersectionOptions& options = figures.set_up.options;
  const bool uses_levels = figures.set_up.method->uses_levels;
  const Json first = gpu_statistics_json(figures.first), last = gpu_statistics_json(figures.last);
  Row row = {{"method", figures.set_up.method->name, "method"},
             {"gpus", figures.gpus, "GPUs"},
             {"", uses_levels ? Json(options.levels) : Json(), "levels"},
             {"batch_queries", options.batch_queries, "batch"},
             {"bucketing", *options.bucketing, "by length"},
             {"transfer", name_of_value(transfers_of_results, *options.transfer), "transfer"},
             {"queries_per_second", queries / figures.seconds, "queries/s", "{:.0f}"},
             {"kernel_queries_per_second", queries / figures.kernel_seconds, "kernels only", "{:.0f}"},
             {"kernel_postings_per_second", postings / figures.kernel_seconds, "G/s", "{:.1f}", 1e-9},
             {"", last["mean_response_us"], "response ms", "{:.3f}", 1e-3},
             {"", last["longest_response_us"], "longest ms", "{:.3f}", 1e-3},
             {"first_pass_queries_per_second", queries / figures.first_seconds, "first pass", "{:.0f}"},
             {"first_pass", first},
             {"last_pass", last},
             {"", last["on_cpu"], "to CPU"}};
  if (uses_levels) row.push_back({"levels", options.levels});
  return row;
}

void report_queries(const BenchGpuIntersectArguments& arguments, const GpuIntersectReport& measured, unsigned threads,
                    BenchReport& report) {
  const auto queries = static_cast<double>(measured.queries), postings = static_cast<double>(measured.postings);
  report.json.update({{"queries", measured.queries},
                      {"results", measured.results},
                      {"postings", measured.postings},
                      {"index_bytes", measured.index_bytes}});
  report.say("{}: {} queries of {:.0f} postings, {:.1f} documents each\n", arguments.index, measured.queries,
             postings / queries, static_cast<double>(measured.results) / queries);
  for (const CpuIntersectFigures& figures : measured.cpu)
    report.add("cpu", {{"method", figures.method->name, "on the CPU"},
                       {"threads", threads, "threads"},
                       {"queries_per_second", queries / figures.seconds, "queries/s", "{:.0f}"},
                       {"postings_per_second", postings / figures.seconds, "G/s", "{:.1f}", 1e-9}});
  report.print_table();
  for (const GpuIntersectFigures& figures : measured.gpu) report.add("gpu", set_up_row(figures, measured));
  report.print_table();
}

void run(const BenchGpuIntersectArguments& arguments) {
  const Resources resources = make_resources(arguments.common);
  require_gpu(arguments.gpu);
  BenchReport report("gpu-intersect", arguments.common);
  for (const GpuInfo& gpu : list_gpus()) report.json["gpus"].push_back(gpu.name);
  const std::vector<Query> queries = read_queries(arguments.queries, arguments.common);
  const IndexReader index = IndexReader::open(arguments.index);
  const ParsedQueries read = QueryReader(index.manifest().analyzer, query_kind(arguments.queries.layout.format))
                                 .read(texts_of(queries), resources.threads);
  const api::ShardGpuMemory gpu_memory(memory_options(arguments.gpu_memory), index, arguments.gpu_memory.plans);
  std::vector<const IntersectionMethod*> cpu_methods;
  for (const std::string& name : arguments.cpu_methods) cpu_methods.push_back(&intersection_method_named(name));
  const GpuIntersectReport measured =
      measure_gpu_intersections(index, read.views(), cpu_methods, set_ups_of(arguments, gpu_memory.options()),
                                resources.threads, arguments.repeats, *resources.progress);
  report.json["index"] = index_json(index);
  report_queries(arguments, measured, resources.threads, report);
  report.finish();
}

}  // namespace

void add_gpu_intersect_bench(CLI::App& bench) {
  auto [command, arguments] = add_bench<BenchGpuIntersectArguments>(
      bench, "gpu-intersect", "Measure intersection speed on a GPU by method, compared with the CPU", run);
  add_index_argument(command, arguments.index);
  add_query_source_options(command, arguments.queries, QueryKinds::text_and_terms);
  add_name_option(command, "--methods", arguments.methods, all_gpu_intersection_methods(),
                  with_choices("GPU methods (default: all):", all_gpu_intersection_methods()));
  add_name_option(command, "--cpu-methods", arguments.cpu_methods, all_intersection_methods(),
                  "CPU methods, on all threads");
  add_number_option(command, "--batches", arguments.batches, "N", "Sizes of batches; a row for each", 1,
                    gpu::max_batch_queries);
  add_number_option(command, "--levels", arguments.levels, "N", "For merge-find: levels of splitters; a row for each",
                    0u, gpu::max_merge_find_levels);
  add_value_option(command, "--bucketing", arguments.bucketing, switches,
                   "Group queries into batches by the length of their shortest lists (default: on for batched)");
  add_value_option(command, "--transfer", arguments.transfers, transfers_of_results,
                   "For batched, serial and hash-segments: how results are transferred (default: packed for "
                   "hash-segments, else whole)");
  add_gpu_option(command, arguments.gpu);
  add_gpu_memory_options(command, arguments.gpu_memory);
  add_settings_option(command, "--gpu-options", "GPU settings", [&arguments = arguments](CLI::App& settings) {
    add_list_options(settings, arguments.gpu_memory.lists);
  });
  add_gpu_counts_option(command, arguments.gpus);
  add_repeats_option(command, arguments.repeats, "Passes; the median time counts");
  set_notes(command,
            {"All methods must find the same documents, or nothing is measured. Times cover everything from query text "
             "to documents in host memory. G/s are billions of postings in the queries' lists per second of kernel "
             "time. The response time of a batch is the time from its texts to its documents, while another batch is "
             "in progress. Methods that unpack lists do so in the first pass."},
            {{"quern bench gpu-intersect my.quern -q log.txt"},
             {"quern bench gpu-intersect my.quern -q log.txt --methods batched --batches 64,1024 --bucketing on,off"},
             {"quern bench gpu-intersect my.quern -q log.txt --methods merge-find --levels 0,1,2,3,4 --json"}});
}

}  // namespace quern::tools
