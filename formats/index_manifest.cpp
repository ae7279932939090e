#include "quern/codec/codec.hpp"
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

constexpr auto describe_index_settings = [](const auto& io, auto& index) {
  io("settings", "order", index.order);
  io("settings", "seed", index.order_seed);
  io("settings", "codec", index.codec);
  io("settings", "block_size", index.codec_options.block_size);
  if (index.codec == rpfd_codec().name()) io("settings", "recursion", index.codec_options.recursion);
  io("settings", "k1", index.bm25.k1);
  io("settings", "b", index.bm25.b);
};

constexpr auto describe_shard = [](const auto& io, auto& shard) {
  io("shard", "number", shard.number);
  io("shard", "count", shard.count);
  io("shard", "order_hash", shard.order_hash);
  io("shard", "statistics_hash", shard.statistics_hash);
  io("shard", "input_hash", shard.input_hash);
};

constexpr auto describe_index_statistics = [](const auto& io, auto& index) {
  io("statistics", "documents", index.statistics.documents);
  io("statistics", "tokens", index.statistics.tokens);
  io("statistics", "docid_base", index.docid_base);
};

constexpr auto describe_index_counts = [](const auto& io, auto& index) {
  io("counts", "documents", index.documents);
  io("counts", "empty_documents", index.empty_documents);
  io("counts", "terms", index.terms);
  io("counts", "postings", index.postings);
  io("counts", "tokens", index.tokens);
  io("counts", "blocks", index.blocks);
  io("counts", "short_lists", index.short_lists);
  io("sizes", "short_list_bytes", index.short_list_bytes);
  io("sizes", "list_bound_bytes", index.list_bound_bytes);
  io("sizes", "docid_bits", index.coded.docid_bits);
  io("sizes", "freq_bits", index.coded.freq_bits);
  io("collection_hash", index.collection_hash);
};

}  // namespace

std::string IndexManifest::to_json() const {
  ManifestJson json = new_manifest("index");
  const ManifestPut put{json};
  json["features"] = features_of(*this);
  json["settings"] = parse_settings(*this);
  json["settings"]["lengths"] = name_of_value(lengths_names, lengths);
  describe_index_settings(put, *this);
  if (scores) json["settings"]["scores"] = quern::to_json(*scores);
  if (quantize_bits > 0 && !impacts) {
    json["settings"]["quantize_bits"] = quantize_bits;
    // A float32 as a double, written with enough digits to be exact.
    json["settings"]["quantize_top"] = static_cast<double>(quantize_top);
  }
  put_libraries(json, libraries);
  describe_index_statistics(put, *this);
  if (shard) describe_shard(put, *shard);
  describe_index_counts(put, *this);
  return manifest_text(json);
}

IndexManifest IndexManifest::from_json(const std::string& text, const std::string& what) {
  IndexManifest manifest;
  read_manifest(text, what, [&](const ManifestJson& json) {
    const ManifestGet get{json};
    const auto& settings = json.at("settings");
    read_parse_settings(settings, what, manifest);
    manifest.lengths = named_value(settings.at("lengths"), lengths_names, what);
    describe_index_settings(get, manifest);
    if (settings.contains("scores")) manifest.scores = document_score_settings(settings.at("scores"), what);
    manifest.quantize_bits = settings.value("quantize_bits", 0u);
    if (manifest.quantize_bits > 0) settings.at("quantize_top").get_to(manifest.quantize_top);
    if (manifest.impacts) {
      manifest.quantize_bits = manifest.impacts->bits;
      manifest.quantize_top = static_cast<float>(manifest.impacts->max_weight());
    }
    manifest.libraries = read_libraries(json);
    describe_index_statistics(get, manifest);
    if (json.contains("shard")) {
      const ShardManifest& shard = manifest.shard.emplace();
      describe_shard(get, *manifest.shard);
      if (shard.number == 0 || shard.number > shard.count)
        throw CorruptFile(what + ": section 'manifest': has an impossible shard number");
    }
    describe_index_counts(get, manifest);
    check_features(json, features_of(manifest), what);
  });
  return manifest;
}

}  // namespace quern
