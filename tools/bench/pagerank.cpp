#include "quern/lab/order_bench.hpp"
#include "quern/order/in_links.hpp"

#include "bench/bench.hpp"
#include "stage_options.hpp"

namespace quern::tools {
namespace {

struct BenchPagerankArguments {
  CommonOptions common;
  std::string collection, links;
  docid_t documents = 0;
  unsigned repeats = 3;
};

ReadGraph read_graph(const BenchPagerankArguments& arguments, const Resources& resources) {
  if (arguments.collection.empty()) return graph_of_link_file(arguments.links, arguments.documents, resources);
  const CollectionReader collection = CollectionReader::open(arguments.collection);
  return arguments.links.empty() ? graph_of_collection(collection, resources)
                                 : graph_of_link_file(arguments.links, collection, resources);
}

void run(const BenchPagerankArguments& arguments) {
  if (arguments.collection.empty() && arguments.links.empty()) throw CLI::RequiredError("COLLECTION or --links");
  const Resources resources = make_resources(arguments.common);
  BenchReport report("pagerank", arguments.common);
  const ReadGraph read = read_graph(arguments, resources);
  const PagerankFigures figures = measure_pagerank(read.graph, {}, arguments.repeats, resources);
  const double edges_per_second = ratio(static_cast<double>(read.counts.edges) * figures.iterations, figures.seconds);
  const double bytes_per_edge = ratio(figures.memory_bytes, read.counts.edges);
  report.json.update({{"documents", read.documents},
                      {"links", api::figures_of(read.counts)},
                      {"iterations", figures.iterations},
                      {"last_change", figures.last_change},
                      {"seconds", figures.seconds},
                      {"seconds_an_iteration", figures.seconds_per_iteration()},
                      {"edges_per_second", edges_per_second},
                      {"peak_memory_bytes", figures.memory_bytes},
                      {"peak_memory_bytes_an_edge", bytes_per_edge}});
  report.say("{} documents, {} links; {} iterations of {:.4f} s, {:.2f} billion edges per second\n", read.documents,
             read.counts.edges, figures.iterations, figures.seconds_per_iteration(), 1e-9 * edges_per_second);
  report.say("peak memory {}, {:.1f} bytes per link\n", size_text(figures.memory_bytes), bytes_per_edge);
  report.finish();
}

}  // namespace

void add_pagerank_bench(CLI::App& bench) {
  auto [command, arguments] =
      add_bench<BenchPagerankArguments>(bench, "pagerank", "Measure the speed and memory use of PageRank", run);
  CLI::Option* collection =
      add_option(command, "COLLECTION", arguments.collection, "", "The collection whose links to use");
  CLI::Option* links = add_option(command, "--links", arguments.links, "FILE",
                                  "Use these links instead: lines from<TAB>to; without a collection, any names");
  add_number_option(command, "--docs", arguments.documents, "N",
                    "Without a collection: number of documents, including those without links", 1, end_docid - 1)
      ->excludes(collection)
      ->needs(links);
  add_repeats_option(command, arguments.repeats, "Repetitions; the median time counts");
  add_resource_options(command, arguments.common);
  set_notes(
      command, {},
      {{"quern bench pagerank my.collection"},
       {"quern synth --docs 1000000 --links links.tsv && quern bench pagerank --links links.tsv --docs 1000000"}});
}

}  // namespace quern::tools
