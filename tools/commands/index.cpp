#include <fmt/format.h>

#include "quern/formats/index_shards.hpp"
#include "quern/formats/order_file.hpp"
#include "quern/index/shards/cut_index.hpp"
#include "quern/index/shards/statistics.hpp"
#include "quern/io/atomic_output.hpp"

#include "command.hpp"
#include "stage_options.hpp"

namespace quern::tools {
namespace {

struct IndexArguments {
  CLI::App* command = nullptr;
  CommonOptions common;
  StageArguments stages;
  std::string output;
};

void run(const IndexArguments& arguments) {
  apply_config_file(*arguments.command);
  const StageArguments& stages = arguments.stages;
  api::IndexOptions options = stages.index;
  options.overwrite = arguments.common.force;
  const Resources resources = make_resources(arguments.common, arguments.output);
  const api::IndexReport report = api::build_index(stages.corpus, arguments.output, options, stages.reading,
                                                   make_work(arguments.common, resources));
  if (options.language.empty() && options.stemmer.empty() && options.impact_bits == 0)
    say(arguments.common, "quern: words are not stemmed; for English text, add --language english (or none)");
  if (arguments.common.json) print(report.figures + "\n");
}

}  // namespace

void add_index_command(CLI::App& program) {
  auto [command, arguments] = add_command<IndexArguments>(
      program, "index", "Build an index from a corpus: parse, order and build in one command", run);
  add_parse_options(command, arguments.stages);
  api::IndexOptions& options = arguments.stages.index;
  std::vector<std::string> orders = names_of(all_orders());
  orders.insert(orders.begin(), options.order);
  add_option(command, "--order", options.order, "NAME",
             with_choices("Order of docIDs:\n  auto: url if all documents have one, else natural", all_orders()))
      ->check(name_validator(orders))
      ->capture_default_str();
  add_order_options(command, options);
  add_build_options(command, options);
  add_weights_option(command, options.weights);
  add_forward_option(command, options.forward);
  add_allow_empty_option(command, options.allow_empty);
  add_output_options(command, arguments.common, arguments.output, "index");
  add_config_option(command);
  arguments.command = &command;
  set_notes(command, {},
            {{"quern index corpus.warc.gz -o my.quern"},
             {"quern index --files-from wet.paths.gz --files-root crawl -o my.quern",
              "The files named in a list, such as Common Crawl's, relative to the folder crawl"},
             {"quern index corpus/ --language english --codec rice -o my.quern"},
             {"quern index corpus/ --store-text -o my.quern", "Keep the documents' texts next to the index"},
             {"quern index splade.jsonl.gz --impacts 16 --impact-scale 100 -o splade.quern",
              "Learned term weights instead of texts"},
             {"quern inspect my.quern --config > my.conf", "Build another index with the settings of the first"},
             {"quern index corpus/ --config my.conf -o other.quern"}});
}

namespace {

struct ParseCommandArguments {
  CommonOptions common;
  StageArguments stages;
  std::string range, output;
};

/// "0-4096", bytes of a file; nothing if the text is another.
std::optional<FileRange> file_range(const std::string& text) {
  const std::size_t dash = text.find('-');
  FileRange range;
  if (dash == std::string::npos || !read_number(text.substr(0, dash), range.from) ||
      !read_number(text.substr(dash + 1), range.to) || range.from >= range.to)
    return std::nullopt;
  return range;
}

void run(const ParseCommandArguments& arguments) {
  const Resources resources = make_resources(arguments.common, arguments.output);
  ParseOptions options =
      api::index_settings(arguments.stages.corpus, arguments.stages.index, arguments.stages.reading, resources).parse;
  if (!arguments.range.empty()) options.range = file_range(arguments.range);
  options.may_be_empty = options.range.has_value() || arguments.stages.index.allow_empty;
  api::refuse_overwritten_corpus(options, arguments.output);
  AtomicOutput out = AtomicOutput::file(arguments.output, arguments.common.force);
  const ParseReport report = parse_corpus(options, resources, out.file());
  out.commit();
  api::remark_on(report, remarks(arguments.common));
  if (arguments.common.json) print_json(api::figures_of(report));
}

}  // namespace

void add_parse_command(CLI::App& program) {
  auto [command, arguments] =
      add_command<ParseCommandArguments>(program, "parse", "Parse a corpus into a collection", run);
  add_parse_options(command, arguments.stages);
  add_option(
      command, "--range", arguments.range, "FROM-TO",
      "Read only this range of bytes of an uncompressed file, as printed by quern ranges; it may have no document")
      ->check(checked_by([](const std::string& text) {
        return file_range(text) ? std::string() : fmt::format("'{}' is not a range such as 0-4096", text);
      }))
      ->excludes("--files-from");
  command.add_flag("--allow-empty", arguments.stages.index.allow_empty,
                   "Accept a corpus without documents: a split of one may have none");
  add_output_options(command, arguments.common, arguments.output, "collection");
  set_notes(command, {},
            {{"quern parse corpus/ -o my.collection"},
             {"quern parse large.warc --range 0-1073741824 -o 1.collection",
              "One part of a file; quern ranges finds such parts"},
             {"quern parse corpus/ --store-text -o my.collection"},
             {"zcat corpus.gz | quern parse - -o my.collection --language english"}});
}

namespace {

struct OrderArguments {
  CommonOptions common;
  api::IndexOptions index;
  std::vector<std::string> collections;
  std::string output;
  std::size_t shards = 0;
};

/// The first docIDs of the shards that --shards asks for.
std::vector<docid_t> shard_cuts(const OrderArguments& arguments, const CollectionReader& collection,
                                const DocumentOrder& order, Resources resources) {
  if (arguments.shards == 0) return {};
  const std::uint64_t order_bytes = order.documents.size() * sizeof(docid_t);
  resources.memory_bytes -= std::min(resources.memory_bytes, order_bytes);
  return cut_into_shards(count_postings(collection, resources), order.documents, arguments.shards);
}

void run(const OrderArguments& arguments) {
  const IndexSettings settings = api::index_settings(arguments.index);
  const Resources resources = make_resources(arguments.common, arguments.output);
  CollectionReader collection = CollectionReader::open(arguments.collections);
  check_order(collection.name(), collection.manifest(), settings.order, settings.pagerank, resources);
  collection.verify(resources);
  collection.join_lexicons(resources.tmp_folder, resources.memory_bytes / 4);
  AtomicOutput out = AtomicOutput::file(arguments.output, arguments.common.force);
  PagerankReport pagerank;
  const DocumentOrder order = make_order(collection, settings.order, settings.pagerank, resources, &pagerank);
  write_order(out.file(), order, settings.order, collection, shard_cuts(arguments, collection, order, resources));
  out.commit();
  api::remark_on(pagerank, remarks(arguments.common));
  say(arguments.common, "quern: ordered {} by {}", count_text(order.documents.size(), "document"),
      arguments.index.order);
  if (arguments.common.json)
    print_json(Json{
        {"by", arguments.index.order}, {"documents", order.documents.size()}, {"pagerank", api::figures_of(pagerank)}});
}

}  // namespace

void add_order_command(CLI::App& program) {
  auto [command, arguments] =
      add_command<OrderArguments>(program, "order", "Assign docIDs to the documents of a collection", run);
  add_collections_argument(command, arguments.collections);
  arguments.index.order = all_orders().front().name();
  add_name_option(command, "--by", arguments.index.order, all_orders(), with_choices("The order:", all_orders()));
  add_order_options(command, arguments.index);
  add_number_option(
      command, "--shards", arguments.shards, "N",
      "Cut the order into N shards, ranges of docIDs with roughly equal numbers of postings, for quern build --shard",
      1, max_shards);
  add_bm25_options(command, arguments.index.k1, arguments.index.b, "global scores");
  add_output_options(command, arguments.common, arguments.output, "order");
  set_notes(command,
            {"The order also stores PageRank if --pagerank (links or a file), --links or --by score is given."},
            {{"quern order my.collection --by url -o my.order"},
             {"quern order my.collection --by score --alpha 0.6 --pagerank-scale log -o my.order"},
             {"quern order my.collection --by score --links links.tsv.gz -o my.order"},
             {"quern order my.collection --by score --pagerank scores.txt -o my.order"},
             {"quern order my.collection --by url --pagerank links -o my.order",
              "For bm25+pagerank queries over an index in URL order"},
             {"quern order split-*.collection --by url --shards 16 -o my.order", "For all splits of a corpus"}});
}

namespace {

struct BuildArguments {
  CommonOptions common;
  api::IndexOptions index;
  std::vector<std::string> collections;
  std::string order, output;
  BesideChoice beside;
  ShardArguments shard;
};

/// The order file's, or that of the corpus.
DocumentOrder load_order(const BuildArguments& arguments, const CollectionReader& collection,
                         OrderOptions& order_options, const Resources& resources) {
  if (arguments.order.empty()) return make_order(collection, order_options, {}, resources);
  const OrderReader reader = OrderReader::open(arguments.order);
  reader.container().verify(resources);
  reader.check_belongs_to(collection);
  order_options = reader.manifest().options;
  return reader.load();
}

/// Throws unless the index fits in memory.
void check_memory(const BuildArguments& arguments, const CollectionReader& collection, const Resources& resources) {
  unsigned scores = 0;
  if (!arguments.order.empty()) {
    const OrderManifest manifest = OrderReader::open(arguments.order).manifest();
    scores = unsigned{manifest.has_pagerank} + unsigned{manifest.has_global_scores};
  }
  check_build_memory(collection, scores, resources);
  arguments.beside.check_memory(collection, resources);
}

/// Joins the lexicons: all, or those with a document of the shard.
void join_lexicons(CollectionReader& collection, const DocumentOrder& order, const ShardSource* shard,
                   const Resources& resources) {
  std::vector<bool> is_in_shard;
  if (shard != nullptr) {
    is_in_shard.resize(order.documents.size());
    for (docid_t docid = shard->docids().first; docid < shard->docids().end; ++docid)
      is_in_shard[order.documents[docid]] = true;
  }
  collection.join_lexicons(
      resources.tmp_folder, resources.memory_bytes / 4,
      shard == nullptr ? std::function<bool(docid_t)>() : [&](docid_t document) { return is_in_shard[document]; });
}

/// Writes the files beside the index that was just written to `out`.
SidecarReports write_beside(const BuildArguments& arguments, const CollectionReader& collection,
                            const DocumentOrder& order, const BuildReport& report, const ShardSource* shard,
                            const Resources& resources, AtomicOutput& out) {
  if (shard == nullptr) return arguments.beside.write(collection, order, report.index_hash, resources, out);
  const IndexReader index = IndexReader::open(out.file());
  const StatisticsBeside statistics(StatisticsReader::open(arguments.shard.statistics));
  const ForwardShard forward_shard{shard->docids(), index, statistics};
  return arguments.beside.write(collection, order, report.index_hash, resources, out, &forward_shard);
}

void run(const BuildArguments& arguments) {
  const Resources resources = make_resources(arguments.common, arguments.output);
  CollectionReader collection = CollectionReader::open(arguments.collections);
  if (arguments.beside.texts) check_has_texts(collection);
  check_memory(arguments, collection, resources);
  BuildOptions build = api::index_settings(arguments.index).build;
  build.forward = arguments.beside.forward;
  build.texts = arguments.beside.texts;
  const std::unique_ptr<ShardSource> shard = shard_source(arguments.shard, arguments.order, resources);
  if (shard)
    shard->check(collection, build);
  else
    refuse_duplicates(collection, resources);
  OrderOptions order_options;
  const DocumentOrder order = load_order(arguments, collection, order_options, resources);
  join_lexicons(collection, order, shard.get(), resources);
  // Links may come from every collection.
  collection.verify(resources, arguments.beside.forward);
  AtomicOutput out = AtomicOutput::folder(arguments.output, index_members(), arguments.common.force);
  const BuildReport report =
      build_index(collection, order, order_options, build, resources, out.file(), shard ? &shard->whole() : nullptr);
  const SidecarReports beside = write_beside(arguments, collection, order, report, shard.get(), resources, out);
  if (shard && !order.pagerank.empty())
    copy_file(shard->statistics().container().file(), out.add_member(statistics_member));
  out.commit();
  show_reports(arguments.common, report, beside, arguments.output);
}

}  // namespace

void add_build_command(CLI::App& program) {
  auto [command, arguments] = add_command<BuildArguments>(program, "build", "Invert a collection into an index", run);
  add_collections_argument(command, arguments.collections);
  add_input_option(command, "--order", arguments.order, "FILE",
                   "The order, as written by quern order (default: the order of the corpus)");
  add_shard_options(command, arguments.shard);
  add_build_options(command, arguments.index);
  add_weights_option(command, arguments.index.weights);
  add_forward_option(command, arguments.beside.forward);
  add_allow_empty_option(command, arguments.index.allow_empty);
  command.add_flag(
      "--store-text", arguments.beside.texts,
      "Write the documents' texts next to the index; the collection must have been parsed with --store-text");
  add_output_options(command, arguments.common, arguments.output, "index");
  set_notes(command, {},
            {{"quern build my.collection --order my.order --codec rice -o my.quern"},
             {"quern build my.collection --store-text -o my.quern"},
             {"quern build split-*.collection --order my.order --shard 3/16 --statistics my.statistics -o 3.quern",
              "A shard of the index of all splits, with the same scores"}});
}

}  // namespace quern::tools
