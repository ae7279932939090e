#include "quern/formats/manifest_settings.hpp"

namespace quern {

bool is_language_code(std::string_view text) {
  return text.size() == 3 && std::all_of(text.begin(), text.end(), [](char c) { return c >= 'a' && c <= 'z'; });
}

std::vector<std::string> sorted_languages(std::vector<std::string> codes) {
  std::sort(codes.begin(), codes.end());
  codes.erase(std::unique(codes.begin(), codes.end()), codes.end());
  return codes;
}

void check_score_settings(const DocumentScoreSettings& settings) {
  check_range("alpha", settings.alpha, 0, 1);
  check_bm25(settings.bm25);
}

ManifestJson to_json(const ImpactSettings& settings) {
  ManifestJson json = {{"bits", settings.bits}};
  if (settings.scale) json["scale"] = *settings.scale;
  return json;
}

ImpactSettings read_impact_settings(const ManifestJson& json, const std::string& what) {
  ImpactSettings settings;
  json.at("bits").get_to(settings.bits);
  if (json.contains("scale")) settings.scale = json.at("scale").get<double>();
  try {
    check_impact_settings(settings);
  } catch (const InvalidArgument& wrong) {
    throw CorruptFile(what + ": section 'manifest': " + wrong.what());
  }
  return settings;
}

ManifestJson to_json(const Weighting& weighting) {
  ManifestJson json = {{"model", weighting.model->name}};
  for (std::size_t i = 0; i < weighting.model->parameters.size(); ++i)
    json[std::string(weighting.model->parameters[i].name)] = weighting.values[i];
  return json;
}

Weighting read_weighting(const ManifestJson& json, const std::string& what) {
  const auto name = json.at("model").get<std::string>();
  if (!has_named(all_weighting_models(), name))
    throw UnsupportedVersion(
        "{}: has the weighting model '{}', which this version does not support; use a newer version", what, name);
  Weighting weighting = weighting_named(name);
  try {
    for (const ModelParameter& parameter : weighting.model->parameters)
      set_parameter(weighting, parameter.name, json.at(std::string(parameter.name)).get<double>());
  } catch (const InvalidArgument& wrong) {
    throw CorruptFile(what + ": section 'manifest': " + wrong.what());
  }
  return weighting;
}

ManifestJson to_json(const DocumentScoreSettings& settings) {
  ManifestJson json = {{"pagerank_scale", name_of_value(pagerank_scales, settings.pagerank_scale)},
                       {"alpha", settings.alpha},
                       {"k1", settings.bm25.k1},
                       {"b", settings.bm25.b}};
  if (settings.origin.source != PagerankSource::unknown)
    json["pagerank_from"] = name_of_value(pagerank_sources, settings.origin.source);
  if (!settings.origin.file_hash.empty()) json["pagerank_file_hash"] = settings.origin.file_hash;
  return json;
}

DocumentScoreSettings document_score_settings(const ManifestJson& json, const std::string& what) {
  DocumentScoreSettings settings;
  settings.pagerank_scale = named_value(json.at("pagerank_scale"), pagerank_scales, what);
  json.at("alpha").get_to(settings.alpha);
  json.at("k1").get_to(settings.bm25.k1);
  json.at("b").get_to(settings.bm25.b);
  if (json.contains("pagerank_from"))
    settings.origin.source = named_value(json.at("pagerank_from"), pagerank_sources, what);
  if (json.contains("pagerank_file_hash")) json.at("pagerank_file_hash").get_to(settings.origin.file_hash);
  return settings;
}

namespace {

struct LibraryName {
  const char* name;
  std::string TextLibraries::*version;
};
constexpr LibraryName library_names[] = {{"unicode", &TextLibraries::unicode},
                                         {"utf8proc", &TextLibraries::utf8proc},
                                         {"libstemmer", &TextLibraries::libstemmer},
                                         {"zstd", &TextLibraries::zstd}};

}  // namespace

void check_features(const ManifestJson& json, const Features& implied, const std::string& what) {
  const auto features = json.value("features", Features());
  for (const std::string& feature : features)
    if (feature != impacts_feature && feature != weights_feature && feature != weighting_feature &&
        feature != shard_feature && feature != simple16_feature)
      throw UnsupportedVersion("{}: has the feature '{}', which this version does not support; use a newer version",
                               what, feature);
  if (features != implied) throw CorruptFile(what + ": section 'manifest': its features contradict its settings");
}

void put_libraries(ManifestJson& json, const TextLibraries& libraries) {
  if (libraries == TextLibraries()) return;
  ManifestJson& json_libraries = json["libraries"] = ManifestJson::object();
  if (libraries.analyzer > 0) json_libraries["analyzer"] = libraries.analyzer;
  for (const auto& [name, version] : library_names)
    if (!(libraries.*version).empty()) json_libraries[name] = libraries.*version;
}

TextLibraries read_libraries(const ManifestJson& json) {
  TextLibraries libraries;
  if (!json.contains("libraries")) return libraries;
  const auto& names = json.at("libraries");
  libraries.analyzer = names.value("analyzer", 0u);
  for (const auto& [name, version] : library_names)
    if (names.contains(name)) names.at(name).get_to(libraries.*version);
  return libraries;
}

}  // namespace quern
