#include <fmt/format.h>

#include "quern/formats/order_file.hpp"
#include "quern/index/shards/cut_index.hpp"
#include "quern/io/atomic_output.hpp"

#include "command.hpp"
#include "stage_options.hpp"

namespace quern::tools {
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
  say(arguments.common,
      fmt::format("quern: ordered {} by {}", count_text(order.documents.size(), "document"), arguments.index.order));
  if (arguments.common.json)
    print(Json{{"by", arguments.index.order},
               {"documents", order.documents.size()},
               {"pagerank", api::figures_of(pagerank)}}
              .dump(1) +
          "\n");
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
  add_common_options(command, arguments.common);
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

}  // namespace quern::tools
