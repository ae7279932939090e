#include <fmt/format.h>

#include "quern/lab/intersect_bench.hpp"

#include "bench/bench.hpp"
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
      chosen.front().reader(query_kind(arguments.queries.format)).read(texts_of(queries), resources.threads);
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

}  // namespace quern::tools
