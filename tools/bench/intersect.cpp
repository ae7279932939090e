#include <fmt/format.h>

#include <memory>

#include "quern/gpu/device/device_info.hpp"
#include "quern/lab/gpu/decode_bench.hpp"
#include "quern/lab/intersect_bench.hpp"

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
  std::vector<std::string> methods;
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

Json figures_json(const IntersectionFigures& figures) {
  const auto queries = static_cast<double>(figures.queries);
  Json json = {{"method", figures.intersection->method().name}};
  if (figures.intersection->method().uses_segment) json["segment"] = figures.intersection->options().segment;
  json.update(
      {{"queries", figures.queries},
       {"results", figures.results},
       {"mean_us", figures.times.mean_us},
       {"mean_decode_us", figures.decode_us / queries},
       {"mean_thin_out_us", figures.intersect_us / queries},
       {"p50_us", figures.times.p50_us},
       {"p90_us", figures.times.p90_us},
       {"p95_us", figures.times.p95_us},
       {"p99_us", figures.times.p99_us},
       {"effective_postings_per_second", figures.postings_per_second()},
       {"thin_out_postings_per_second", figures.intersected_per_second()},
       {"blocks_decoded_share", figures.counts.blocks == 0 ? 0
                                                           : static_cast<double>(figures.counts.blocks_decoded) /
                                                                 static_cast<double>(figures.counts.blocks)}});
  return json;
}

void print_head(const BenchIntersectArguments& arguments, const IntersectionFigures& figures) {
  print(environment_line());
  print(fmt::format("{}: {} queries of {:.0f} postings, {:.1f} documents each\n", arguments.index, figures.queries,
                    static_cast<double>(figures.counts.postings) / static_cast<double>(figures.queries),
                    static_cast<double>(figures.results) / static_cast<double>(figures.queries)));
  print(fmt::format("{:<20}{:>9}{:>9}{:>10}{:>9}{:>9}{:>9}{:>14}{:>10}\n", "method", "mean us", "decode", "intersect",
                    "p50", "p99", "G/s", "G/s intersect", "decoded"));
}

void print_row(const Json& row) {
  const auto number = [&](const char* key) { return row[key].get<double>(); };
  std::string name = row["method"].get<std::string>();
  if (row.contains("segment")) name += fmt::format(" of {}", row["segment"].get<unsigned>());
  print(fmt::format("{:<20}{:>9.1f}{:>9.1f}{:>10.1f}{:>9.1f}{:>9.1f}{:>9.2f}{:>14.2f}{:>8.1f} %\n", name,
                    number("mean_us"), number("mean_decode_us"), number("mean_thin_out_us"), number("p50_us"),
                    number("p99_us"), billions(number("effective_postings_per_second")),
                    billions(number("thin_out_postings_per_second")), 100 * number("blocks_decoded_share")));
}

void run(BenchIntersectArguments arguments) {
  const Resources resources = make_resources(arguments.common);
  if (arguments.methods.empty()) arguments.methods = names_of(all_intersection_methods());
  Json json = {{"bench", "intersect"}, {"environment", environment_json()}};  // its load is that before the work
  const std::vector<Query> queries = read_queries(arguments.queries, arguments.common);
  const IndexReader index = IndexReader::open(arguments.index);
  const std::vector<Intersection> chosen = intersections(arguments, index);
  const ParsedQueries read =
      chosen.front().reader(query_kind(arguments.queries.format)).read(texts_of(queries), resources.threads);
  const auto measured = measure_intersections(read.views(), chosen, arguments.repeats, *resources.progress);
  json["index"] = index_json(index);
  json["repeats"] = arguments.repeats;
  json["postings"] = measured.front().counts.postings;
  for (const IntersectionFigures& figures : measured) json["results"].push_back(figures_json(figures));
  if (arguments.common.json) return print(json.dump(1) + "\n");
  print_head(arguments, measured.front());
  for (const Json& row : json["results"]) print_row(row);
}

}  // namespace

void add_intersect_bench(CLI::App& bench) {
  auto arguments = std::make_shared<BenchIntersectArguments>();
  CLI::App* command = bench.add_subcommand("intersect", "Measure intersection speed by method");
  add_index_argument(*command, arguments->index);
  add_query_source_options(*command, arguments->queries, QueryKinds::text_and_terms);
  add_name_option(*command, "--method", arguments->methods, all_intersection_methods(), "Methods (default: all)")
      ->delimiter(',');
  add_number_option(*command, "--segment", arguments->segments, "N", "For stride: docIDs per segment; a row for each",
                    1u, 1u << 30);
  add_repeats_option(*command, arguments->repeats, "Repetitions of each query; the median time counts");
  command->add_flag("--json", arguments->common.json, "Print figures as JSON");
  add_common_options(*command, arguments->common);
  set_notes(
      *command,
      {"All methods must find the same documents, or nothing is measured. Times are those of one thread. G/s is the "
       "effective rate in billions of postings per second: postings in the queries' lists divided by the time from "
       "text to documents, or by the time for intersecting only, which for block-skipping includes decoding."},
      {{"quern bench intersect my.quern -q log.txt --segment 8,32,128"}});
  command->callback([arguments] { run(*arguments); });
}

namespace {

struct BenchMergeFindArguments {
  CommonOptions common;
  std::vector<std::uint32_t> lengths = {5000, 50000, 500000, 4000000, 16000000};
  std::vector<std::uint32_t> longer = {1};
  gpu::MergeFindBenchOptions bench;
};

Json figures_json(const gpu::MergeFindFigures& figures) {
  Json json = {{"elements", figures.elements}, {"in", figures.in}};
  for (const double us : figures.us) {
    json["us"].push_back(us);
    json["ns_an_element"].push_back(1000 * us / figures.elements);
  }
  return json;
}

void print_levels(const Json& json) {
  print(environment_line());
  print("ns per element, by levels of splitters:\n");
  print(fmt::format("{:>12}{:>12}{:>9}{:>9}{:>9}{:>9}{:>9}\n", "elements", "in", 0, 1, 2, 3, 4));
  for (const Json& row : json["lists"]) {
    print(fmt::format("{:>12}{:>12}", row["elements"].get<std::uint64_t>(), row["in"].get<std::uint64_t>()));
    for (const Json& ns : row["ns_an_element"]) print(fmt::format("{:>9.3f}", ns.get<double>()));
    print("\n");
  }
}

void run(const BenchMergeFindArguments& arguments) {
  const Resources resources = make_resources(arguments.common);
  Json json = {{"bench", "merge-find"}, {"environment", environment_json()}};
  require_gpu(arguments.bench.gpu);
  std::vector<gpu::MergeFindFigures> lengths;
  for (const std::uint32_t length : arguments.lengths)
    for (const std::uint32_t times : arguments.longer) lengths.push_back({length, length * times, {}});
  for (const auto& figures : gpu::measure_merge_find(lengths, arguments.bench, *resources.progress))
    json["lists"].push_back(figures_json(figures));
  for (const GpuInfo& gpu : list_gpus()) json["gpus"].push_back(gpu.name);
  if (arguments.common.json) return print(json.dump(1) + "\n");
  print_levels(json);
}

}  // namespace

void add_merge_find_bench(CLI::App& bench) {
  auto arguments = std::make_shared<BenchMergeFindArguments>();
  CLI::App* command = bench.add_subcommand(
      "merge-find", "Measure how fast a GPU looks up docIDs in a decoded list, by levels of splitters");
  add_number_option(*command, "--lengths", arguments->lengths, "N", "Numbers of docIDs to look up; rows for each", 1u,
                    1u << 27);
  add_number_option(*command, "--longer", arguments->longer, "N",
                    "How many times longer the other list is; a row for each", 1u, 1000u);
  add_number_option(*command, "--seed", arguments->bench.seed, "N", "Seed of the lists");
  add_gpu_option(*command, arguments->bench.gpu);
  add_repeats_option(*command, arguments->bench.repeats, "Passes; the median time counts");
  command->add_flag("--json", arguments->common.json, "Print figures as JSON");
  add_common_options(*command, arguments->common);
  set_notes(*command, {"The docIDs found are compared with the CPU's before anything is measured."},
            {{"quern bench merge-find"}, {"quern bench merge-find --lengths 200000 --longer 1,4,16,64 --json"}});
  command->callback([arguments] { run(*arguments); });
}

}  // namespace quern::tools
