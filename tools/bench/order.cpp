#include <fmt/format.h>

#include <memory>

#include "quern/lab/order_bench.hpp"

#include "bench/bench.hpp"
#include "figures.hpp"
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

/// Measures the orders of --by, all if none is named, and prints a table, or JSON with --json.
void run(const BenchOrderArguments& arguments) {
  std::vector<IndexSettings> orders;
  for (api::IndexOptions options = arguments.index; const std::string& by : arguments.by) {
    options.order = by;
    orders.push_back(api::index_settings(options));
  }
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
  for (const IndexSettings& order : orders) {
    const OrderFigures figures =
        measure_order(collection, order.order, order.pagerank, arguments.block_size, resources);
    json["orders"].push_back(order_json(figures));
    if (!common.json) print_order(figures);
  }
  if (common.json) print(json.dump(1) + "\n");
}

}  // namespace

void add_order_bench(CLI::App& bench) {
  auto arguments = std::make_shared<BenchOrderArguments>();
  CLI::App* command =
      bench.add_subcommand("order", "Measure the cost of docID orders, and how well lists compress in them");
  add_collections_argument(*command, arguments->collections);
  add_name_option(*command, "--by", arguments->by, all_orders(),
                  with_choices("The orders (default: all):", all_orders()))
      ->delimiter(',')
      ->allow_extra_args(false);
  add_order_options(*command, arguments->index);
  add_bm25_options(*command, arguments->index.k1, arguments->index.b, "global scores");
  add_block_size_option(*command, arguments->block_size, "Postings per block");
  add_resource_options(*command, arguments->common);
  command->add_flag("--json", arguments->common.json, "Print figures as JSON");
  add_common_options(*command, arguments->common);
  set_notes(*command, {},
            {{"quern bench order my.collection"},
             {"quern bench order my.collection --by url,bisection --json > order.json"}});
  command->callback([arguments] { run(*arguments); });
}

namespace {

struct BenchTerminationArguments {
  CommonOptions common;
  std::vector<std::string> indexes;
  QuerySource queries;
  std::vector<std::size_t> ks = {10};
};

double share(double part, double whole) { return whole == 0 ? 0 : part / whole; }

Json figures_json(const IndexReader& index, const TerminationFigures& figures) {
  const DocumentScoreSettings& scores = *index.manifest().scores;
  Json json = {
      {"index", index.name()},           {"pagerank_scale", name_of_value(pagerank_scales, scores.pagerank_scale)},
      {"alpha", scores.alpha},           {"k", figures.k},
      {"queries", figures.queries},      {"stopped_early", figures.counts.stopped_early},
      {"blocks", figures.counts.blocks}, {"blocks_decoded", figures.counts.blocks_decoded}};
  json["depths"] = depths_json(figures.counts);
  json["curve"] = {{"term", figures.curve.term},
                   {"df", figures.curve.df},
                   {"queries", figures.curve.queries},
                   {"visits", figures.curve.visits}};
  return json;
}

void print_head() {
  print(environment_line());
  print(fmt::format("{:<28}{:<8}{:>7}{:>6}{:>9}{:>10}{:>12}{:>12}{:>12}{:>12}\n", "index", "scale", "alpha", "k",
                    "queries", "stopped", "l(0) read", "of postings", "all lists", "decoded"));
}

/// Shares: of the shortest list, the mean over queries and that of all postings; of all lists' postings; of blocks.
void print_row(const IndexReader& index, const TerminationFigures& figures) {
  const DocumentScoreSettings& scores = *index.manifest().scores;
  const ListDepth& shortest = figures.counts.depths.front();
  ListDepth all;
  for (const ListDepth& depth : figures.counts.depths) all += depth;
  const auto percent = [](double part, double whole) { return 100 * share(part, whole); };
  print(fmt::format(
      "{:<28}{:<8}{:>7}{:>6}{:>9}{:>8.1f} %{:>10.1f} %{:>10.1f} %{:>10.1f} %{:>10.1f} %\n", index.name(),
      name_of_value(pagerank_scales, scores.pagerank_scale), scores.alpha, figures.k, figures.queries,
      percent(static_cast<double>(figures.counts.stopped_early), static_cast<double>(figures.queries)),
      100 * shortest.mean_share(), percent(static_cast<double>(shortest.read), static_cast<double>(shortest.postings)),
      percent(static_cast<double>(all.read), static_cast<double>(all.postings)),
      percent(static_cast<double>(figures.counts.blocks_decoded), static_cast<double>(figures.counts.blocks))));
}

ScoringOptions scoring_of(const IndexReader& index) {
  ScoringArguments arguments;
  arguments.scorer = Scorer::bm25_pagerank;
  return scoring_options(arguments, index);
}

void run(const BenchTerminationArguments& arguments) {
  const Resources resources = make_resources(arguments.common);
  Json json = {{"bench", "termination"}, {"environment", environment_json()}};
  const std::vector<Query> queries = read_queries(arguments.queries, arguments.common);
  const std::vector<std::string_view> texts = texts_of(queries);
  json["queries"] = {{"file", arguments.queries.file}, {"count", queries.size()}};
  if (!arguments.common.json) print_head();
  for (const std::string& path : arguments.indexes) {
    const IndexReader index = IndexReader::open(path);
    const QueryEngine engine(index, scoring_of(index));
    if (!engine.ends_early())
      throw InvalidArgument(fmt::format("{}: early termination is off: {}", path, engine.why_not_early()));
    json["indexes"].push_back(index_json(index));
    for (const std::size_t k : arguments.ks) {
      const TerminationFigures figures = measure_termination(engine, texts, k, resources);
      json["results"].push_back(figures_json(index, figures));
      if (!arguments.common.json) print_row(index, figures);
    }
  }
  if (arguments.common.json) print(json.dump(1) + "\n");
}

}  // namespace

void add_termination_bench(CLI::App& bench) {
  auto arguments = std::make_shared<BenchTerminationArguments>();
  CLI::App* command =
      bench.add_subcommand("termination", "Measure how much of their lists `and` queries read before they end early");
  command->add_option("INDEX", arguments->indexes, "Indexes whose order is 'score'")->type_name("")->required();
  add_query_source_options(*command, arguments->queries);
  add_number_option(*command, "-k", arguments->ks, "N", "Results per query (default: 10)", 1, end_docid);
  command->add_flag("--json", arguments->common.json, "Print figures as JSON");
  add_common_options(*command, arguments->common);
  set_notes(*command,
            {"The JSON also has the number of queries that visit each part of the most frequent term's list, as in "
             "figure 3 of Wang et al.; scripts/plot draws it."},
            {{"quern bench termination scored.quern -q log.txt -k 1,10,100"},
             {"quern bench termination rank.quern log.quern linear.quern -q log.txt --json > termination.json"},
             {"scripts/plot termination.json -o plots"}});
  command->callback([arguments] { run(*arguments); });
}

}  // namespace quern::tools
