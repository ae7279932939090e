#include <fmt/format.h>

#include "quern/lab/order_bench.hpp"
#include "quern/order/in_links.hpp"

#include "bench/bench.hpp"
#include "query_options.hpp"
#include "stage_options.hpp"

namespace quern::tools {
namespace {

struct BenchOrderArguments {
  CommonOptions common;
  api::IndexOptions index;
  std::vector<std::string> by = names_of(all_orders());
  std::vector<std::string> collections;
  unsigned block_size = 128;
};

/// A line of the table per codec; figures of the order alone are in the first.
void add_rows(const OrderFigures& figures, BenchReport& report) {
  Json json = {{"by", figures.by},
               {"seconds", figures.seconds},
               {"peak_bytes", figures.peak_bytes ? Json(*figures.peak_bytes) : Json()},
               {"gap_entropy_bits_per_posting", figures.gap_entropy_bits}};
  Row row = {{"", figures.by, "order"},
             {"", figures.seconds, "seconds", "{:.3f}"},
             {"", json["peak_bytes"], "peak MB", "{:.1f}", 1e-6},
             {"", figures.gap_entropy_bits, "entropy", "{:.3f}"}};
  for (const CodecBits& bits : figures.codecs) {
    const Row coded = {{"codec", bits.codec->name, "codec"},
                       {"docid_bits_per_posting", bits.docid, "docIDs", "{:.3f}"},
                       {"freq_bits_per_posting", bits.freq, "freqs", "{:.3f}"},
                       {"directory_bits_per_posting", bits.directory, "rows", "{:.3f}"},
                       {"", bits.docid + bits.freq + bits.directory, "sum", "{:.3f}"}};
    json["codecs"].push_back(to_json(coded));
    row.insert(row.end(), coded.begin(), coded.end());
    report.add("", row);
    row.resize(row.size() - coded.size());
    for (Figure& figure : row) figure.value = "";
  }
  report.json["orders"].push_back(std::move(json));
  report.print_table();
}

/// Measures the orders of --by, or all of them.
void run(const BenchOrderArguments& arguments) {
  std::vector<IndexSettings> orders;
  for (api::IndexOptions options = arguments.index; const std::string& by : arguments.by) {
    options.order = by;
    orders.push_back(api::index_settings(options));
  }
  const Resources resources = make_resources(arguments.common);
  CollectionReader collection = CollectionReader::open(arguments.collections);
  collection.verify(resources);
  collection.join_lexicons(resources.tmp_folder, resources.memory_bytes / 4);
  const CollectionManifest& manifest = collection.manifest();
  BenchReport report("order", arguments.common);
  report.json.update({{"collection", collection.name()},
                      {"documents", manifest.documents},
                      {"terms", manifest.terms},
                      {"postings", manifest.postings},
                      {"block_size", arguments.block_size},
                      {"threads", resources.threads},
                      {"orders", Json::array()}});
  report.say("{} documents, {} postings, blocks of {}; bits per posting\n", manifest.documents, manifest.postings,
             arguments.block_size);
  for (const IndexSettings& order : orders)
    add_rows(measure_order(collection, order.order, order.pagerank, arguments.block_size, resources), report);
  report.finish();
}

}  // namespace

void add_order_bench(CLI::App& bench) {
  auto [command, arguments] = add_bench<BenchOrderArguments>(
      bench, "order", "Measure the cost of docID orders, and how well lists compress in them", run);
  add_collections_argument(command, arguments.collections);
  add_name_option(command, "--by", arguments.by, all_orders(),
                  with_choices("The orders (default: all):", all_orders()));
  add_order_options(command, arguments.index);
  add_bm25_options(command, arguments.index.k1, arguments.index.b, "global scores");
  add_block_size_option(command, arguments.block_size, "Postings per block");
  add_resource_options(command, arguments.common);
  set_notes(command, {},
            {{"quern bench order my.collection"},
             {"quern bench order my.collection --by url,bisection --json > order.json"}});
}

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
      add_input_option(command, "COLLECTION", arguments.collection, "", "The collection whose links to use");
  CLI::Option* links = add_input_option(command, "--links", arguments.links, "FILE",
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
