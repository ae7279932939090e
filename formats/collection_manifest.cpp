#include "quern/core/version.hpp"
#include "quern/formats/collection.hpp"
#include "quern/formats/manifest_json.hpp"

namespace quern {

std::string CollectionManifest::to_json() const {
  ManifestJson json;
  json["kind"] = "collection";
  json["tool"] = std::string("quern ") + version();
  json["settings"] = {{"analyzer", ManifestJson::parse(analyzer_to_json(analyzer))},
                      {"format", corpus_format},
                      {"max_document_bytes", max_document_bytes},
                      {"duplicates", name_of_value(duplicates_names, duplicates)}};
  put_libraries(json, libraries);
  json["counts"] = {{"documents", documents},
                    {"empty_documents", empty_documents},
                    {"documents_without_url", documents_without_url},
                    {"terms", terms},
                    {"tokens", tokens},
                    {"postings", postings},
                    {"links", links}};
  json["input_hash"] = input_hash;
  return manifest_text(json);
}

CollectionManifest CollectionManifest::from_json(const std::string& text, const std::string& what) {
  CollectionManifest manifest;
  read_manifest(text, what, [&](const ManifestJson& json) {
    const auto& settings = json.at("settings");
    manifest.analyzer = analyzer_from_json(settings.at("analyzer").dump(), what);
    settings.at("format").get_to(manifest.corpus_format);
    settings.at("max_document_bytes").get_to(manifest.max_document_bytes);
    manifest.duplicates = named_value(settings.at("duplicates"), duplicates_names, what);
    manifest.libraries = read_libraries(json);
    const auto& counts = json.at("counts");
    counts.at("documents").get_to(manifest.documents);
    counts.at("empty_documents").get_to(manifest.empty_documents);
    counts.at("documents_without_url").get_to(manifest.documents_without_url);
    counts.at("terms").get_to(manifest.terms);
    counts.at("tokens").get_to(manifest.tokens);
    counts.at("postings").get_to(manifest.postings);
    counts.at("links").get_to(manifest.links);
    json.at("input_hash").get_to(manifest.input_hash);
  });
  return manifest;
}

}  // namespace quern
