#pragma once
#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "quern/core/bm25.hpp"
#include "quern/core/named.hpp"
#include "quern/core/quantized.hpp"

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
    {"log", PagerankScale::log, "its logarithm, from the smallest (0) to the greatest (1)"},
    {"linear", PagerankScale::linear, "divided by the greatest"},
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

nlohmann::ordered_json to_json(const DocumentScoreSettings& settings);
/// Throws nlohmann::json::exception if something is missing or of another type; CorruptFile, with `what`, for an
/// unknown scale or source.
DocumentScoreSettings document_score_settings(const nlohmann::ordered_json& json, const std::string& what);

}  // namespace quern
