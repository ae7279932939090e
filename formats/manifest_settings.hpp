#pragma once
#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>

#include "quern/core/bm25.hpp"
#include "quern/core/named.hpp"
#include "quern/core/weighting_model.hpp"
#include "quern/text/analyzer.hpp"
#include "quern/text/field_value.hpp"

/// Settings shared by the manifests of several kinds of files.
namespace quern {

/// How parsing treats documents with the docno of an earlier one.
enum class Duplicates {
  keep,   ///< count them, keep all
  refuse  ///< fail
};
inline constexpr NamedValue<Duplicates> duplicates_names[] = {{"keep", Duplicates::keep},
                                                              {"refuse", Duplicates::refuse}};

/// Which pages of a crawl become documents, according to their records' headers.
struct PageChoice {
  /// ISO 639-3 codes, sorted and unique: pages with another or unknown main language are skipped. Empty: all pages
  /// stay.
  std::vector<std::string> languages;
  bool drop_copies = false;  ///< skip pages with the payload digest of an earlier one

  bool operator==(const PageChoice&) const = default;
};

/// Whether `text` has the form of an ISO 639-3 code: three lower-case letters.
bool is_language_code(std::string_view text);
/// Sorts codes and removes duplicates, as PageChoice requires.
std::vector<std::string> sorted_languages(std::vector<std::string> codes);

/// The kind of document lengths in an index.
enum class Lengths {
  exact,  ///< the sums of the documents' frequencies
  lossy   ///< imported or generated numbers, which may differ from the sums
};
inline constexpr NamedValue<Lengths> lengths_names[] = {{"exact", Lengths::exact}, {"lossy", Lengths::lossy}};

/// The source of documents' PageRank.
enum class PagerankSource {
  unknown,     ///< none, or not in the manifest
  links,       ///< computed from the collection's own links
  link_file,   ///< computed from the links in a file
  score_file,  ///< read from a file
  uniform      ///< equal for all documents
};
/// Names in manifests, which omit `unknown`.
inline constexpr NamedValue<PagerankSource> pagerank_sources[] = {{"links", PagerankSource::links},
                                                                  {"link file", PagerankSource::link_file},
                                                                  {"score file", PagerankSource::score_file},
                                                                  {"uniform", PagerankSource::uniform}};

struct PagerankOrigin {
  PagerankSource source = PagerankSource::unknown;
  std::string file_hash;  ///< of the file's bytes, decompressed: hash_text() of their XXH3-64; empty without a file

  bool operator==(const PagerankOrigin&) const = default;
};

/// How scores map PageRank, which sums to 1 over all documents, to [0, 1]; the greatest becomes 1. Wang et al. state
/// only that PageRank and term scores share a range. The scale determines how early a query can stop.
enum class PagerankScale { rank, log, linear };
inline constexpr NamedValue<PagerankScale> pagerank_scales[] = {
    {"rank", PagerankScale::rank, "the share of documents with a PageRank up to this one"},
    {"log", PagerankScale::log, "its logarithm, scaled from the smallest (0) to the largest (1)"},
    {"linear", PagerankScale::linear, "PageRank divided by the maximum"},
};

/// Settings of query-independent scores: PageRank as used in scores, and global scores. Stored in the manifests of
/// orders and indexes with such scores.
struct DocumentScoreSettings {
  PagerankScale pagerank_scale = PagerankScale::rank;
  PagerankOrigin origin;
  double alpha = 0.3;   ///< PageRank's share of global scores
  Bm25Parameters bm25;  ///< of global scores

  bool operator==(const DocumentScoreSettings&) const = default;
};

/// Throws InvalidArgument if alpha, k1 or b is out of range or not a number.
void check_score_settings(const DocumentScoreSettings& settings);

nlohmann::ordered_json to_json(const ImpactSettings& settings);
/// Throws like document_score_settings(), and CorruptFile for numbers out of range.
ImpactSettings read_impact_settings(const nlohmann::ordered_json& json, const std::string& what);

/// The name of the model and the values of its parameters.
nlohmann::ordered_json to_json(const Weighting& weighting);
/// Throws like read_impact_settings(), and UnsupportedVersion for an unknown model.
Weighting read_weighting(const nlohmann::ordered_json& json, const std::string& what);

nlohmann::ordered_json to_json(const DocumentScoreSettings& settings);
/// Throws nlohmann::json::exception if something is missing or of another type; CorruptFile, with `what`, for an
/// unknown scale or source.
DocumentScoreSettings document_score_settings(const nlohmann::ordered_json& json, const std::string& what);

/// Manifests keep the order of their keys, so that the same content gives the same bytes.
using ManifestJson = nlohmann::ordered_json;

/// Begins a manifest with the members that all kinds of files have.
inline ManifestJson new_manifest(const char* kind) {
  ManifestJson json = ManifestJson::object();  // null isn't exception-safe if memory runs out
  json["kind"] = kind;
  json["tool"] = std::string("quern ") + version();
  return json;
}

inline std::string manifest_text(const ManifestJson& json) { return json.dump(1) + "\n"; }

/// Calls read(json) on the parsed text. Missing members and wrong types become CorruptFile with `what`.
template <class Read>
void read_manifest(const std::string& text, const std::string& what, Read&& read) {
  // Manifests are flat and short. Deep nesting would exhaust the stack, and many keys would need quadratic time, since
  // an ordered object searches linearly.
  constexpr int max_depth = 16;
  constexpr std::size_t max_keys = 1000;
  std::size_t keys = 0;
  const auto check = [&](int depth, ManifestJson::parse_event_t event, ManifestJson&) {
    keys += event == ManifestJson::parse_event_t::key;
    if (depth > max_depth || keys > max_keys) throw CorruptFile(what + ": section 'manifest': is not a Quern manifest");
    return true;
  };
  try {
    read(ManifestJson::parse(text, check));
  } catch (const nlohmann::json::exception& error) {
    throw CorruptFile(what + ": section 'manifest': " + error.what());
  }
}

/// Writes members of a manifest; an optional one only if it has a value. A function that passes each member's key and
/// value to `io` describes a manifest once for this and for ManifestGet.
struct ManifestPut {
  ManifestJson& json;

  template <class Value>
  void operator()(const char* key, const Value& value) const {
    json[key] = value;
  }
  template <class Value>
  void operator()(const char* section, const char* key, const Value& value) const {
    ManifestJson& members = json[section];
    if (members.is_null()) members = ManifestJson::object();  // see new_manifest()
    members[key] = value;
  }
  template <class Value>
  void operator()(const char* section, const char* key, const std::optional<Value>& value) const {
    if (value) (*this)(section, key, *value);
  }
};

/// Reads members of a manifest. Throws nlohmann::json::exception if one is missing or of another type.
struct ManifestGet {
  const ManifestJson& json;

  template <class Value>
  void operator()(const char* key, Value& value) const {
    json.at(key).get_to(value);
  }
  template <class Value>
  void operator()(const char* section, const char* key, Value& value) const {
    json.at(section).at(key).get_to(value);
  }
  template <class Value>
  void operator()(const char* section, const char* key, std::optional<Value>& value) const {
    if (json.at(section).contains(key)) json.at(section).at(key).get_to(value.emplace());
  }
};

/// The text of a manifest whose members describe(io, manifest) passes to `io`.
template <class Manifest, class Describe>
std::string described_manifest(const char* kind, const Manifest& manifest, Describe&& describe) {
  ManifestJson json = new_manifest(kind);
  describe(ManifestPut{json}, manifest);
  return manifest_text(json);
}
/// Reads that text. Throws CorruptFile with `what`.
template <class Manifest, class Describe>
Manifest read_described_manifest(const std::string& text, const std::string& what, Describe&& describe) {
  Manifest manifest;
  read_manifest(text, what, [&](const ManifestJson& json) { describe(ManifestGet{json}, manifest); });
  return manifest;
}

/// Optional parts of a file. A program that doesn't know a feature can't read the file.
using Features = std::vector<std::string>;
inline constexpr std::string_view impacts_feature = "quantized impacts", weights_feature = "given weights",
                                  weighting_feature = "weighting model", shard_feature = "shard",
                                  simple16_feature = "simple16";

/// Compares a manifest's list of features with what its other keys imply; a missing list is an empty one. Throws
/// UnsupportedVersion for a feature that this program doesn't know, CorruptFile if the two differ.
void check_features(const ManifestJson& json, const Features& implied, const std::string& what);

/// The enum value named by the text `json`. Throws CorruptFile, with `what`, for unknown names.
template <class Enum, std::size_t n>
Enum named_value(const ManifestJson& json, const NamedValue<Enum> (&names)[n], const std::string& what) {
  const auto name = json.get<std::string>();
  if (!has_named(names, name)) throw CorruptFile(what + ": section 'manifest': unknown setting '" + name + "'");
  return find_named(names, name, "setting").value;
}

/// Parse settings shared by the manifests of a collection and of the indexes built from it.
template <class Manifest>
ManifestJson parse_settings(const Manifest& manifest) {
  ManifestJson settings = {{"analyzer", ManifestJson::parse(analyzer_to_json(manifest.analyzer))},
                           {"format", manifest.corpus_format},
                           {"max_document_bytes", manifest.max_document_bytes},
                           {"duplicates", name_of_value(duplicates_names, manifest.duplicates)}};
  ManifestJson fields = ManifestJson::object();  // null isn't exception-safe if memory runs out
  for (const NamedField& field : named_fields)
    if (const std::string& name = manifest.field_names.*field.member; !name.empty()) fields[field.name] = name;
  if (!manifest.field_names.kept.empty()) fields["keep"] = manifest.field_names.kept;
  if (!fields.empty()) settings["fields"] = std::move(fields);
  if (manifest.impacts) settings["impacts"] = to_json(*manifest.impacts);
  if (!manifest.pages.languages.empty()) settings["languages"] = manifest.pages.languages;
  if (manifest.pages.drop_copies) settings["drop_copies"] = true;
  return settings;
}
template <class Manifest>
void read_parse_settings(const ManifestJson& settings, const std::string& what, Manifest& manifest) {
  manifest.analyzer = analyzer_from_json(settings.at("analyzer").dump(), what);
  settings.at("format").get_to(manifest.corpus_format);
  settings.at("max_document_bytes").get_to(manifest.max_document_bytes);
  manifest.duplicates = named_value(settings.at("duplicates"), duplicates_names, what);
  if (settings.contains("impacts")) manifest.impacts = read_impact_settings(settings.at("impacts"), what);
  if (settings.contains("languages")) settings.at("languages").get_to(manifest.pages.languages);
  if (settings.contains("drop_copies")) settings.at("drop_copies").get_to(manifest.pages.drop_copies);
  if (!settings.contains("fields")) return;
  for (const NamedField& field : named_fields)
    if (settings.at("fields").contains(field.name))
      settings.at("fields").at(field.name).get_to(manifest.field_names.*field.member);
  if (!settings.at("fields").contains("keep")) return;
  settings.at("fields").at("keep").get_to(manifest.field_names.kept);
  if (manifest.field_names.kept.size() > max_kept_fields)
    throw CorruptFile(what + ": section 'manifest': names too many kept fields");
}

/// Copies parse settings and libraries, but not impacts, from one manifest to another.
template <class From, class To>
void copy_parse_settings(const From& from, To& to) {
  to.analyzer = from.analyzer;
  to.libraries = from.libraries;
  to.corpus_format = from.corpus_format;
  to.max_document_bytes = from.max_document_bytes;
  to.field_names = from.field_names;
  to.duplicates = from.duplicates;
  to.pages = from.pages;
}

/// Writes the libraries that produced a file's terms, unless they are unknown.
void put_libraries(ManifestJson& json, const TextLibraries& libraries);
TextLibraries read_libraries(const ManifestJson& json);

}  // namespace quern
