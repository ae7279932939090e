#include "quern/core/version.hpp"
#include "quern/formats/collection.hpp"
#include "quern/formats/manifest_json.hpp"
#include "quern/io/checksum.hpp"

namespace quern {

std::string CollectionManifest::to_json() const {
  ManifestJson json = ManifestJson::object();  // null would not survive that memory runs out
  json["kind"] = "collection";
  json["tool"] = std::string("quern ") + version();
  json["settings"] = parse_settings(*this);
  put_libraries(json, libraries);
  json["counts"] = {{"documents", documents},
                    {"empty_documents", empty_documents},
                    {"documents_without_url", documents_without_url},
                    {"terms", terms},
                    {"tokens", tokens},
                    {"postings", postings},
                    {"links", links}};
  if (text_bytes) json["counts"]["text_bytes"] = *text_bytes;
  json["input_hash"] = hash_text(input_hash);
  return manifest_text(json);
}

CollectionManifest CollectionManifest::from_json(const std::string& text, const std::string& what) {
  CollectionManifest manifest;
  read_manifest(text, what, [&](const ManifestJson& json) {
    read_parse_settings(json.at("settings"), what, manifest);
    manifest.libraries = read_libraries(json);
    const auto& counts = json.at("counts");
    counts.at("documents").get_to(manifest.documents);
    counts.at("empty_documents").get_to(manifest.empty_documents);
    counts.at("documents_without_url").get_to(manifest.documents_without_url);
    counts.at("terms").get_to(manifest.terms);
    counts.at("tokens").get_to(manifest.tokens);
    counts.at("postings").get_to(manifest.postings);
    counts.at("links").get_to(manifest.links);
    if (counts.contains("text_bytes")) manifest.text_bytes = counts.at("text_bytes").get<std::uint64_t>();
    const auto hash = hash_of_text(json.at("input_hash").get<std::string>());
    if (!hash) throw CorruptFile(what + ": section 'manifest': 'input_hash' is no hash");
    manifest.input_hash = *hash;
  });
  return manifest;
}

}  // namespace quern
