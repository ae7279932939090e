#include <array>
#include <deque>
#include <string>
#include <vector>

#include "quern/core/error.hpp"
#include "quern/corpus/corpus_reader.hpp"
#include "quern/formats/fields_file.hpp"
#include "quern/formats/rankers/model_format.hpp"
#include "quern/formats/texts_file.hpp"
#include "quern/index/shards/cut_index.hpp"
#include "quern/index/shards/merge_indexes.hpp"
#include "quern/index/shards/statistics.hpp"
#include "quern/io/checksum.hpp"
#include "quern/rank/features/feature_list.hpp"
#include "quern/rank/reranker.hpp"

#include "failing_calls/failing_entry_points.hpp"
#include "failing_calls/failing_new.hpp"

namespace quern::testing {
namespace {

constexpr std::array<const char*, 2> shard_names = {"shard1", "shard2"}, forward_names = {"forward1", "forward2"};

void count_terms(const Workplace& place) {
  write_file("counted", [&](File& out) { write_statistics(place.collection(), place.resources, out); });
  std::vector<StatisticsReader> inputs;
  {
    const OwnWork own;
    inputs.push_back(StatisticsReader::open("counted"));
  }
  write_file("statistics", [&](File& out) { merge_statistics(inputs, place.resources, out); });
  find_scales(place.collection(), inputs[0], {}, place.resources);
}

void build_shard(const Workplace& place) {
  const DocumentOrder order = OrderReader::open("order").load();
  const auto firsts = [] {
    const OwnWork own;
    return std::vector<docid_t>{0, 1};
  }();
  write_file("order-in-shards", [&](File& out) { write_order(out, order, {}, place.collection(), firsts); });
  const OrderReader in_shards = OrderReader::open("order-in-shards");
  ShardSource source({1, 2}, in_shards, StatisticsReader::open("statistics"), std::nullopt);
  const StatisticsBeside statistics(StatisticsReader::open("statistics"));
  const CollectionReader collection = place.collection();
  write_file("built", [&](File& out) {
    build_index(collection, order, {}, {}, place.resources, out, &source.whole());
    const IndexReader index = IndexReader::open(out);
    const ForwardShard forward_shard{source.docids(), index, statistics};
    const auto target = [&] {
      const OwnWork own;
      return ForwardTarget{order.documents, hash_text(index.container().content_hash()), &forward_shard};
    }();
    write_file("forward-built", [&](File& forward) { build_forward(collection, target, place.resources, forward); });
  });
}

void cut(const Workplace& place) {
  const IndexReader index = place.index();
  for (std::size_t i = 0; i < shard_names.size(); ++i)
    write_file(shard_names[i], [&](File& out) {
      cut_index(index, {static_cast<std::uint32_t>(i + 1), 2}, nullptr, place.resources, out);
    });
}

void copy_files(const Workplace& place) {
  const IndexReader index = place.index();
  for (std::size_t i = 0; i < shard_names.size(); ++i) {
    const IndexReader shard = IndexReader::open(shard_names[i]);
    const auto first = static_cast<docid_t>(shard.manifest().docid_base);
    const IndexPart part{index, {first, first + shard.num_documents()}};
    const std::string hash = [&] {
      const OwnWork own;
      return hash_text(shard.container().content_hash());
    }();
    write_file("texts-of-shard", [&](File& out) { copy_texts({&part, 1}, hash, place.resources, out); });
    write_file("fields-of-shard", [&](File& out) { copy_fields({&part, 1}, hash, place.resources, out); });
    write_file(forward_names[i], [&](File& out) { copy_forward({&part, 1}, shard, place.resources, out); });
  }
}

IndexShards open_shards() {
  const OwnWork own;
  return IndexShards::open({shard_names[0], shard_names[1]});
}

void merge(const Workplace& place) {
  const IndexShards shards = open_shards();
  write_file("merged", [&](File& out) { merge_indexes(shards, place.resources, out); });
}

void rerank_shards(const Workplace&) {
  const IndexShards shards = open_shards();
  std::vector<ForwardReader> forwards;
  std::vector<ScoredDocument> documents;
  ModelFile file;
  {
    const OwnWork own;
    for (const char* name : forward_names) forwards.emplace_back(ContainerReader::open(name, FileKind::forward));
    documents = {{0, 1.0f}, {1, 0.5f}};
    file = {"model", "## Coordinate Ascent\n28:-1.0 1:0.5\n"};
  }
  const Reranker reranker(feature_shards(shards, forwards),
                          bind_features(parse_ranker(file), select_features("all"), file.name), "model");
  const auto space = translate_errors([&] { return std::make_unique<Reranker::Space>(reranker); });
  reranker.rerank("mill water unknown", documents, 2, *space);
}

void cut_file(const Workplace& place) { find_ranges(place.pages, 3, {}, place.resources); }

}  // namespace

std::vector<EntryPoint> shard_calls(const Workplace& place) {
  return {{"statistics", [&] { count_terms(place); }},
          {"build a shard", [&] { build_shard(place); }},
          {"cut", [&] { cut(place); }},
          {"copy files beside an index", [&] { copy_files(place); }},
          {"merge", [&] { merge(place); }},
          {"rerank over shards", [&] { rerank_shards(place); }},
          {"ranges", [&] { cut_file(place); }, 1}};
}

}  // namespace quern::testing
