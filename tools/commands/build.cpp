#include "quern/formats/index_shards.hpp"
#include "quern/formats/order_file.hpp"
#include "quern/io/atomic_output.hpp"

#include "command.hpp"
#include "stage_options.hpp"

namespace quern::tools {
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
  const BuildOptions build = api::index_settings(arguments.index).build;
  const std::unique_ptr<ShardSource> shard = shard_source(arguments.shard, arguments.order, resources);
  if (shard) shard->check(collection, build);
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
  add_option(command, "--order", arguments.order, "FILE",
             "The order, as written by quern order (default: the order of the corpus)");
  add_shard_options(command, arguments.shard);
  add_build_options(command, arguments.index);
  add_forward_option(command, arguments.beside.forward);
  command.add_flag(
      "--store-text", arguments.beside.texts,
      "Write the documents' texts next to the index; the collection must have been parsed with --store-text");
  add_output_options(command, arguments.common, arguments.output, "index");
  add_common_options(command, arguments.common);
  set_notes(command, {},
            {{"quern build my.collection --order my.order --codec rice -o my.quern"},
             {"quern build my.collection --store-text -o my.quern"},
             {"quern build split-*.collection --order my.order --shard 3/16 --statistics my.statistics -o 3.quern",
              "A shard of the index of all splits, with the same scores"}});
}

}  // namespace quern::tools
