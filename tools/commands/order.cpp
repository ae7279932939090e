#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "quern/formats/order_file.hpp"
#include "quern/index/shards/shard_cuts.hpp"
#include "quern/io/atomic_output.hpp"
#include "quern/lab/order_bench.hpp"

#include "bench/bench.hpp"
#include "command.hpp"
#include "stage_options.hpp"

namespace quern::tools {
namespace {

struct OrderReportArguments {
  bool is_wanted = false;
  unsigned block_size = 128;
};

struct OrderArguments {
  CommonOptions common;
  OrderOptions order;
  OrderReportArguments report;
  std::vector<OrderBy> by;
  PagerankArguments pagerank;
  std::vector<std::string> collections;
  std::string output;
  std::size_t shards = 0;
};

/// The first docIDs of the shards that --shards asks for.
std::vector<docid_t> shard_cuts(const OrderArguments& arguments, const CollectionReader& collection,
                                const DocumentOrder& order, Resources resources) {
  if (arguments.shards == 0) return {};
  const std::uint64_t of_order = order.documents.size() * sizeof(docid_t);
  resources.memory_bytes -= std::min(resources.memory_bytes, of_order);
  return cut_into_shards(count_postings(collection, resources), order.documents, arguments.shards);
}

void run(const OrderArguments& arguments) {
  const PagerankInput input = pagerank_input(arguments.pagerank, {arguments.order.by});
  const Resources resources = make_resources(arguments.common, arguments.output);
  CollectionReader collection = CollectionReader::open(arguments.collections);
  check_order(collection.name(), collection.manifest(), arguments.order, input, resources);
  collection.verify(resources);
  collection.join_lexicons(resources.tmp_folder, resources.memory_bytes / 4);
  AtomicOutput out = AtomicOutput::file(arguments.output, arguments.common.force);
  PagerankReport pagerank;
  const DocumentOrder order = make_order(collection, arguments.order, input, resources, &pagerank);
  write_order(out.file(), order, arguments.order, collection, shard_cuts(arguments, collection, order, resources));
  out.commit();
  say_report(arguments.common, pagerank);
  say(arguments.common, fmt::format("quern: ordered {} by {}", count_text(order.documents.size(), "document"),
                                    name_of_value(order_names, arguments.order.by)));
  if (arguments.common.json)
    print(Json{{"by", name_of_value(order_names, arguments.order.by)},
               {"documents", order.documents.size()},
               {"pagerank", to_json(pagerank)}}
              .dump(1) +
          "\n");
}

Json figures_json(const OrderFigures& figures) {
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

void print_columns() {
  print(fmt::format("{:<12}{:>9}{:>9}{:>9}  {:<8}{:>9}{:>9}{:>9}{:>9}\n", "order", "seconds", "peak MB", "entropy",
                    "codec", "docIDs", "freqs", "rows", "sum"));
}

/// One line per codec; what does not depend on the codec is in the first.
void print_figures(const OrderFigures& figures) {
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

/// --report and --block-size.
void add_order_report_options(CLI::App& command, OrderReportArguments& arguments) {
  CLI::Option* report = command.add_flag(
      "--report", arguments.is_wanted,
      "Print what each order (all, or those of --by) costs and how well lists compress in it; write no order");
  add_block_size_option(command, arguments.block_size, "Postings per block, for the report")->needs(report);
}

std::vector<OrderBy> every_order() {
  std::vector<OrderBy> orders;
  for (const OrderMethod* order : all_orders()) orders.push_back(order->by());
  return orders;
}

/// Measures the orders of --by, all if none is named, and prints a table, or JSON with --json.
void run_report(const OrderArguments& arguments) {
  const std::vector<OrderBy> orders = arguments.by.empty() ? every_order() : arguments.by;
  const PagerankInput pagerank = pagerank_input(arguments.pagerank, orders);
  const CommonOptions& common = arguments.common;
  const unsigned block_size = arguments.report.block_size;
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
               {"block_size", block_size},
               {"threads", resources.threads},
               {"orders", Json::array()}};
  if (!common.json) {
    print(environment_line());
    print(fmt::format("{} documents, {} postings, blocks of {}; bits per posting\n", manifest.documents,
                      manifest.postings, block_size));
    print_columns();
  }
  OrderOptions options = arguments.order;
  for (const OrderBy by : orders) {
    options.by = by;
    const OrderFigures figures = measure_order(collection, options, pagerank, block_size, resources);
    json["orders"].push_back(figures_json(figures));
    if (!common.json) print_figures(figures);
  }
  if (common.json) print(json.dump(1) + "\n");
}

}  // namespace

void add_order_command(CLI::App& program) {
  auto arguments = std::make_shared<OrderArguments>();
  CLI::App* command = program.add_subcommand("order", "Assign docIDs to the documents of a collection");
  add_collections_argument(*command, arguments->collections);
  add_value_option(*command, "--by", arguments->by, order_names,
                   with_choices("The order (default: natural); --report takes several:", all_orders()))
      ->allow_extra_args(false);
  add_order_options(*command, arguments->order);
  command
      ->add_option(
          "--shards", arguments->shards,
          "Cut the order into so many shards, ranges of docIDs with about as many postings each, for quern build "
          "--shard")
      ->type_name("N")
      ->check(range_validator(std::size_t{1}, max_shards));
  add_order_report_options(*command, arguments->report);
  command->get_option("--shards")->excludes("--report");
  add_pagerank_options(*command, arguments->pagerank);
  add_bm25_options(*command, arguments->order.scores.bm25, "global scores");
  add_output_options(*command, arguments->common, arguments->output, "order");
  command->get_option("--output")->required(false)->excludes("--report");
  add_common_options(*command, arguments->common);
  set_notes(*command,
            {"An order carries the documents' PageRank with --pagerank links or a file, with --links, and by score."},
            {{"quern order my.collection --by url -o my.order"},
             {"quern order my.collection --by score --alpha 0.6 --pagerank-scale log -o my.order"},
             {"quern order my.collection --by score --links links.tsv.gz -o my.order"},
             {"quern order my.collection --by score --pagerank scores.txt -o my.order"},
             {"quern order my.collection --by url --pagerank links -o my.order",
              "For queries by bm25+pagerank in the order of URLs"},
             {"quern order split-*.collection --by url --shards 16 -o my.order", "Of all splits of a corpus"},
             {"quern order my.collection --report --by url,bisection", "Compare two orders"}});
  command->callback([arguments] {
    if (arguments->report.is_wanted) return run_report(*arguments);
    if (arguments->output.empty()) throw CLI::RequiredError("--output or --report");
    if (arguments->by.size() > 1) throw CLI::ValidationError("--by", "takes one order, unless --report is given");
    if (!arguments->by.empty()) arguments->order.by = arguments->by.front();
    run(*arguments);
  });
}

}  // namespace quern::tools
