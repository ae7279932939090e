#include "quern/codec/codec.hpp"
#include "quern/core/types.hpp"
#include "quern/formats/index_file.hpp"
#include "quern/formats/manifest_settings.hpp"

namespace quern {
namespace {

Features features_of(const IndexManifest& manifest) {
  Features features;
  if (manifest.impacts)
    features.emplace_back(weights_feature);
  else if (manifest.quantize_bits > 0)
    features.emplace_back(impacts_feature);
  if (manifest.shard) features.emplace_back(shard_feature);
  return features;
}

}  // namespace

std::string IndexManifest::to_json() const {
  ManifestJson json = new_manifest("index");
  json["features"] = features_of(*this);
  ManifestJson& settings = json["settings"] = parse_settings(*this);
  settings["lengths"] = name_of_value(lengths_names, lengths);
  settings["order"] = order;
  settings["seed"] = order_seed;
  settings["codec"] = codec;
  settings["block_size"] = codec_options.block_size;
  if (codec == rpfd_codec().name()) settings["recursion"] = codec_options.recursion;
  settings["k1"] = bm25.k1;
  settings["b"] = bm25.b;
  if (scores) settings["scores"] = quern::to_json(*scores);
  if (quantize_bits > 0 && !impacts) {
    settings["quantize_bits"] = quantize_bits;
    // A float32 as a double, written with enough digits to be exact.
    settings["quantize_top"] = static_cast<double>(quantize_top);
  }
  put_libraries(json, libraries);
  json["statistics"] = {{"documents", statistics.documents}, {"tokens", statistics.tokens}, {"docid_base", docid_base}};
  if (shard)
    json["shard"] = {{"number", shard->number},
                     {"count", shard->count},
                     {"order_hash", shard->order_hash},
                     {"statistics_hash", shard->statistics_hash},
                     {"input_hash", shard->input_hash}};
  json["counts"] = {{"documents", documents},
                    {"empty_documents", empty_documents},
                    {"terms", terms},
                    {"postings", postings},
                    {"tokens", tokens},
                    {"blocks", blocks},
                    {"short_lists", short_lists}};
  json["sizes"] = {{"short_list_bytes", short_list_bytes},
                   {"list_bound_bytes", list_bound_bytes},
                   {"docid_bits", coded.docid_bits},
                   {"freq_bits", coded.freq_bits}};
  json["collection_hash"] = collection_hash;
  return manifest_text(json);
}

IndexManifest IndexManifest::from_json(const std::string& text, const std::string& what) {
  IndexManifest manifest;
  read_manifest(text, what, [&](const ManifestJson& json) {
    const auto& settings = json.at("settings");
    read_parse_settings(settings, what, manifest);
    if (settings.contains("lengths")) manifest.lengths = named_value(settings.at("lengths"), lengths_names, what);
    settings.at("order").get_to(manifest.order);
    settings.at("seed").get_to(manifest.order_seed);
    settings.at("codec").get_to(manifest.codec);
    settings.at("block_size").get_to(manifest.codec_options.block_size);
    if (manifest.codec == rpfd_codec().name()) settings.at("recursion").get_to(manifest.codec_options.recursion);
    settings.at("k1").get_to(manifest.bm25.k1);
    settings.at("b").get_to(manifest.bm25.b);
    if (settings.contains("scores")) manifest.scores = document_score_settings(settings.at("scores"), what);
    manifest.quantize_bits = settings.value("quantize_bits", 0u);
    if (manifest.quantize_bits > 0) settings.at("quantize_top").get_to(manifest.quantize_top);
    if (manifest.impacts) {
      manifest.quantize_bits = manifest.impacts->bits;
      manifest.quantize_top = static_cast<float>(manifest.impacts->max_weight());
    }
    manifest.libraries = read_libraries(json);
    const auto& collection = json.at("statistics");
    collection.at("documents").get_to(manifest.statistics.documents);
    collection.at("tokens").get_to(manifest.statistics.tokens);
    collection.at("docid_base").get_to(manifest.docid_base);
    if (json.contains("shard")) {
      const auto& shard_json = json.at("shard");
      ShardManifest& made = manifest.shard.emplace();
      shard_json.at("number").get_to(made.number);
      shard_json.at("count").get_to(made.count);
      shard_json.at("order_hash").get_to(made.order_hash);
      shard_json.at("statistics_hash").get_to(made.statistics_hash);
      shard_json.at("input_hash").get_to(made.input_hash);
      if (made.number == 0 || made.number > made.count)
        throw CorruptFile(what + ": section 'manifest': has an impossible shard number");
    }
    const auto& counts = json.at("counts");
    counts.at("documents").get_to(manifest.documents);
    counts.at("empty_documents").get_to(manifest.empty_documents);
    counts.at("terms").get_to(manifest.terms);
    counts.at("postings").get_to(manifest.postings);
    counts.at("tokens").get_to(manifest.tokens);
    counts.at("blocks").get_to(manifest.blocks);
    counts.at("short_lists").get_to(manifest.short_lists);
    const auto& sizes = json.at("sizes");
    sizes.at("short_list_bytes").get_to(manifest.short_list_bytes);
    sizes.at("list_bound_bytes").get_to(manifest.list_bound_bytes);
    sizes.at("docid_bits").get_to(manifest.coded.docid_bits);
    sizes.at("freq_bits").get_to(manifest.coded.freq_bits);
    json.at("collection_hash").get_to(manifest.collection_hash);
    check_features(json, features_of(manifest), what);
  });
  return manifest;
}

}  // namespace quern
