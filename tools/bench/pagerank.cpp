#include <fmt/format.h>

#include <memory>

#include "quern/core/size_text.hpp"
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

Json figures_json(const ReadGraph& read, const PagerankFigures& figures) {
  const auto edges = static_cast<double>(read.counts.edges);
  return {{"documents", read.documents},
          {"links", api::figures_of(read.counts)},
          {"iterations", figures.iterations},
          {"last_change", figures.last_change},
          {"seconds", figures.seconds},
          {"seconds_an_iteration", figures.seconds_per_iteration()},
          {"edges_per_second", figures.seconds > 0 ? edges * figures.iterations / figures.seconds : 0},
          {"peak_memory_bytes", figures.memory_bytes},
          {"peak_memory_bytes_an_edge", edges > 0 ? static_cast<double>(figures.memory_bytes) / edges : 0}};
}

void print_figures(const Json& figures) {
  print(environment_line());
  print(fmt::format("{} documents, {} links; {} iterations of {:.4f} s, {:.2f} billion edges per second\n",
                    figures["documents"].get<docid_t>(), figures["links"]["edges"].get<std::uint64_t>(),
                    figures["iterations"].get<unsigned>(), figures["seconds_an_iteration"].get<double>(),
                    billions(figures["edges_per_second"].get<double>())));
  print(fmt::format("peak memory {}, {:.1f} bytes per link\n",
                    size_text(figures["peak_memory_bytes"].get<std::uint64_t>()),
                    figures["peak_memory_bytes_an_edge"].get<double>()));
}

void run(const BenchPagerankArguments& arguments) {
  if (arguments.collection.empty() && arguments.links.empty()) throw CLI::RequiredError("COLLECTION or --links");
  const Resources resources = make_resources(arguments.common);
  Json json = {{"bench", "pagerank"}, {"environment", environment_json()}};  // its load is that before the work
  const ReadGraph read = read_graph(arguments, resources);
  json.update(figures_json(read, measure_pagerank(read.graph, {}, arguments.repeats, resources)));
  if (arguments.common.json) return print(json.dump(1) + "\n");
  print_figures(json);
}

}  // namespace

void add_pagerank_bench(CLI::App& bench) {
  auto arguments = std::make_shared<BenchPagerankArguments>();
  CLI::App* command = bench.add_subcommand("pagerank", "Measure the speed and memory use of PageRank");
  CLI::Option* collection =
      command->add_option("COLLECTION", arguments->collection, "The collection whose links to use")->type_name("");
  CLI::Option* links = command
                           ->add_option("--links", arguments->links,
                                        "Use these links instead: lines from<TAB>to; without a collection, any names")
                           ->type_name("FILE");
  add_number_option(*command, "--docs", arguments->documents, "N",
                    "Number of documents without a collection, including those without links", 1, end_docid - 1)
      ->excludes(collection)
      ->needs(links);
  add_repeats_option(*command, arguments->repeats, "Repetitions; the median time counts");
  add_resource_options(*command, arguments->common);
  command->add_flag("--json", arguments->common.json, "Print figures as JSON");
  add_common_options(*command, arguments->common);
  set_notes(
      *command, {},
      {{"quern bench pagerank my.collection"},
       {"quern synth --docs 1000000 --links links.tsv && quern bench pagerank --links links.tsv --docs 1000000"}});
  command->callback([arguments] { run(*arguments); });
}

}  // namespace quern::tools
