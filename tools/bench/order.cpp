#include <fmt/format.h>

#include <memory>

#include "quern/lab/order_bench.hpp"

#include "bench/bench.hpp"
#include "stage_options.hpp"

namespace quern::tools {
namespace {

struct BenchOrderArguments {
  CommonOptions common;
  OrderOptions order;
  std::vector<OrderBy> by;
  PagerankArguments pagerank;
  std::vector<std::string> collections;
  unsigned block_size = 128;
};

Json order_json(const OrderFigures& figures) {
  Json json = {{"by", figures.by},
               {"seconds", figures.seconds},
               {"peak_bytes", figures.peak_bytes ? Json(*figures.peak_bytes) : Json()},
               {"gap_entropy_bits_per_posting", figures.gap_entropy_bits}};
  for (const CodecBits& bits : figures.codecs) {
    json["codecs"].push_back({{"codec", bits.codec->name()},
                              {"docid_bits_per_posting", bits.docid},
                              {"freq_bits_per_posting", bits.freq},
                              {"directory_bits_per_posting", bits.directory}});
  }
  return json;
}

void print_order_columns() {
  print(fmt::format("{:<12}{:>9}{:>9}{:>9}  {:<8}{:>9}{:>9}{:>9}{:>9}\n", "order", "seconds", "peak MB", "entropy",
                    "codec", "docIDs", "freqs", "rows", "sum"));
}

/// One line per codec; what does not depend on the codec is in the first.
void print_order(const OrderFigures& figures) {
  const std::string peak =
      figures.peak_bytes ? fmt::format("{:.1f}", static_cast<double>(*figures.peak_bytes) / 1e6) : "unknown";
  std::string order =
      fmt::format("{:<12}{:>9.3f}{:>9}{:>9.3f}", figures.by, figures.seconds, peak, figures.gap_entropy_bits);
  for (const CodecBits& bits : figures.codecs) {
    print(fmt::format("{:<39}  {:<8}{:>9.3f}{:>9.3f}{:>9.3f}{:>9.3f}\n", order, bits.codec->name(), bits.docid,
                      bits.freq, bits.directory, bits.docid + bits.freq + bits.directory));
    order.clear();
  }
}

std::vector<OrderBy> every_order() {
  std::vector<OrderBy> orders;
  for (const OrderMethod* order : all_orders()) orders.push_back(order->by());
  return orders;
}

/// Measures the orders of --by, all if none is named, and prints a table, or JSON with --json.
void run(const BenchOrderArguments& arguments) {
  const std::vector<OrderBy> orders = arguments.by.empty() ? every_order() : arguments.by;
  const PagerankInput pagerank = pagerank_input(arguments.pagerank, orders);
  const CommonOptions& common = arguments.common;
  const Resources resources = make_resources(common);
  CollectionReader collection = CollectionReader::open(arguments.collections);
  collection.verify(resources);
  collection.join_lexicons(resources.tmp_folder, resources.memory_bytes / 4);
  const CollectionManifest& manifest = collection.manifest();
  Json json = {{"bench", "order"},
               {"environment", environment_json()},
               {"collection", collection.name()},
               {"documents", manifest.documents},
               {"terms", manifest.terms},
               {"postings", manifest.postings},
               {"block_size", arguments.block_size},
               {"threads", resources.threads},
               {"orders", Json::array()}};
  if (!common.json) {
    print(environment_line());
    print(fmt::format("{} documents, {} postings, blocks of {}; bits per posting\n", manifest.documents,
                      manifest.postings, arguments.block_size));
    print_order_columns();
  }
  OrderOptions options = arguments.order;
  for (const OrderBy by : orders) {
    options.by = by;
    const OrderFigures figures = measure_order(collection, options, pagerank, arguments.block_size, resources);
    json["orders"].push_back(order_json(figures));
    if (!common.json) print_order(figures);
  }
  if (common.json) print(json.dump(1) + "\n");
}

}  // namespace

void add_order_bench(CLI::App& bench) {
  auto arguments = std::make_shared<BenchOrderArguments>();
  CLI::App* command =
      bench.add_subcommand("order", "Measure what orders of docIDs cost, and how well lists compress in them");
  add_collections_argument(*command, arguments->collections);
  add_value_option(*command, "--by", arguments->by, order_names,
                   with_choices("The orders (default: all):", all_orders()))
      ->allow_extra_args(false);
  add_order_options(*command, arguments->order);
  add_pagerank_options(*command, arguments->pagerank);
  add_bm25_options(*command, arguments->order.scores.bm25, "global scores");
  add_block_size_option(*command, arguments->block_size, "Postings per block");
  add_resource_options(*command, arguments->common);
  command->add_flag("--json", arguments->common.json, "Print figures as JSON");
  add_common_options(*command, arguments->common);
  set_notes(*command, {},
            {{"quern bench order my.collection"},
             {"quern bench order my.collection --by url,bisection --json > order.json"}});
  command->callback([arguments] { run(*arguments); });
}

}  // namespace quern::tools
