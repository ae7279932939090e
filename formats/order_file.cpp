#include "quern/formats/order_file.hpp"

#include "quern/io/checksum.hpp"

namespace quern {

std::string OrderManifest::to_json() const {
  ManifestJson json = new_manifest("order");
  json["settings"] = {{"by", name_of_value(order_names, options.by)}, {"seed", options.seed}};
  json["documents"] = documents;
  json["scores"] = {{"pagerank", has_pagerank}, {"global_scores", has_global_scores}};
  if (has_pagerank || has_global_scores) json["scores"]["settings"] = quern::to_json(options.scores);
  json["collection_hash"] = collection_hash;
  if (!shards.empty()) json["shards"] = shards;
  return manifest_text(json);
}

OrderManifest OrderManifest::from_json(const std::string& text, const std::string& what) {
  OrderManifest manifest;
  read_manifest(text, what, [&](const ManifestJson& json) {
    manifest.options.by = named_value(json.at("settings").at("by"), order_names, what);
    json.at("settings").at("seed").get_to(manifest.options.seed);
    json.at("documents").get_to(manifest.documents);
    json.at("scores").at("pagerank").get_to(manifest.has_pagerank);
    json.at("scores").at("global_scores").get_to(manifest.has_global_scores);
    if (manifest.has_pagerank || manifest.has_global_scores)
      manifest.options.scores = document_score_settings(json.at("scores").at("settings"), what);
    json.at("collection_hash").get_to(manifest.collection_hash);
    if (json.contains("shards")) json.at("shards").get_to(manifest.shards);
  });
  const std::vector<docid_t>& shards = manifest.shards;
  for (std::size_t i = 0; i < shards.size(); ++i)
    if (i == 0 ? shards[i] != 0 : shards[i] < shards[i - 1] || shards[i] > manifest.documents)
      throw CorruptFile(what + ": section 'manifest': the first docIDs of shards do not ascend");
  return manifest;
}

DocidRange OrderManifest::shard(std::size_t number) const {
  const std::size_t next = number + 1;
  return {shards.at(number), next < shards.size() ? shards[next] : static_cast<docid_t>(documents)};
}

void write_order(File& out, const DocumentOrder& order, const OrderOptions& options, const CollectionReader& collection,
                 const std::vector<docid_t>& shards) {
  OrderManifest manifest;
  manifest.options = options;
  manifest.options.scores.origin = order.pagerank_origin;
  manifest.documents = order.documents.size();
  manifest.collection_hash = hash_text(collection.content_hash());
  manifest.shards = shards;
  manifest.has_pagerank = !order.pagerank.empty();
  manifest.has_global_scores = !order.global_scores.empty();
  ContainerWriter writer(out, FileKind::order);
  writer.add_array("documents", order.documents);
  if (manifest.has_pagerank) writer.add_array("pagerank", order.pagerank);
  if (manifest.has_global_scores) writer.add_array("global_scores", order.global_scores);
  writer.finish(manifest.to_json());
}

OrderReader::OrderReader(ContainerReader container) : ManifestReader(std::move(container)) {
  if (manifest_.documents >= end_docid) container_.fail("manifest", "too many documents");
}

void OrderReader::check_belongs_to(const CollectionReader& collection) const {
  const std::string wanted = hash_text(collection.content_hash());
  if (manifest_.collection_hash != wanted || manifest_.documents != collection.num_documents()) {
    throw InvalidArgument("{}: is an order of another collection, not of {}; create one with: quern order {} -o ORDER",
                          name(), collection.name(), collection.name());
  }
}

DocumentOrder OrderReader::load() const {
  DocumentOrder order;
  order.documents = container_.load_array<docid_t>("documents", manifest_.documents);
  if (manifest_.has_pagerank) order.pagerank = container_.load_array<float>("pagerank", manifest_.documents);
  order.pagerank_origin = manifest_.options.scores.origin;
  if (manifest_.has_global_scores)
    order.global_scores = container_.load_array<float>("global_scores", manifest_.documents);
  std::vector<bool> seen(order.documents.size());
  for (const docid_t document : order.documents) {
    if (document >= seen.size() || seen[document])
      container_.fail("documents", "is not a permutation of the documents");
    seen[document] = true;
  }
  for (std::size_t i = 0; i < order.global_scores.size(); ++i)
    if (!(order.global_scores[i] >= 0) || (i > 0 && order.global_scores[i] > order.global_scores[i - 1]))
      container_.fail("global_scores", "its values increase");
  for (const float rank : order.pagerank)
    if (!(rank >= 0 && rank <= 1)) container_.fail("pagerank", "has values outside of [0, 1]");
  return order;
}

}  // namespace quern
