#pragma once
#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "quern/core/bm25.hpp"
#include "quern/core/named.hpp"
#include "quern/core/quantized.hpp"

/// Settings that the manifests of several kinds of files share.
namespace quern {

/// What parsing does with documents whose docno an earlier document has.
enum class Duplicates {
  keep,   ///< count them, keep all
  refuse  ///< fail
};
inline constexpr NamedValue<Duplicates> duplicates_names[] = {{"keep", Duplicates::keep},
                                                              {"refuse", Duplicates::refuse}};

/// Which pages of a crawl become documents, by what their records' headers say.
struct PageChoice {
  /// ISO 639-3 codes: pages whose main language is another, or not said, are left out. Sorted, each once; none: all
  /// pages stay.
  std::vector<std::string> languages;
  bool drop_copies = false;  ///< leave out pages whose payload digest an earlier one has

  bool operator==(const PageChoice&) const = default;
};

/// Whether `text` can be a code of ISO 639-3: three letters, of lower case.
bool is_language_code(std::string_view text);
/// Codes as PageChoice has them.
std::vector<std::string> sorted_languages(std::vector<std::string> codes);

/// What an index's document lengths are.
enum class Lengths {
  exact,  ///< the sums of the documents' frequencies
  lossy   ///< numbers that came from an imported file, or from a generator, and may differ from the sums
};
inline constexpr NamedValue<Lengths> lengths_names[] = {{"exact", Lengths::exact}, {"lossy", Lengths::lossy}};

/// What documents' PageRank was taken from.
enum class PagerankSource {
  unknown,     ///< there is none, or the manifest does not name it
  links,       ///< computed from the collection's own links
  link_file,   ///< computed from the links in a file
  score_file,  ///< read from a file
  uniform      ///< all documents have the same
};
/// As manifests name them; `unknown` is left out there.
inline constexpr NamedValue<PagerankSource> pagerank_sources[] = {{"links", PagerankSource::links},
                                                                  {"link file", PagerankSource::link_file},
                                                                  {"score file", PagerankSource::score_file},
                                                                  {"uniform", PagerankSource::uniform}};

struct PagerankOrigin {
  PagerankSource source = PagerankSource::unknown;
  std::string file_hash;  ///< of the file's bytes, decompressed: hash_text() of their XXH3-64; empty without a file

  bool operator==(const PagerankOrigin&) const = default;
};

/// How PageRank, which sums to 1 over all documents, is mapped to [0, 1] for use in scores. The greatest becomes 1.
/// Wang et al. only say that PageRank and term scores are mapped to one range; the scale decides how early a query may
/// stop.
enum class PagerankScale { rank, log, linear };
inline constexpr NamedValue<PagerankScale> pagerank_scales[] = {
    {"rank", PagerankScale::rank, "the share of documents that have no greater PageRank"},
    {"log", PagerankScale::log, "its logarithm, from the smallest (0) to the greatest (1)"},
    {"linear", PagerankScale::linear, "divided by the greatest"},
};

/// What made the scores that documents have by themselves: PageRank as scores use it, and global scores. Stored in the
/// manifests of orders and indexes that hold such scores.
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
/// Throws as document_score_settings() does, and CorruptFile for numbers out of range.
ImpactSettings read_impact_settings(const nlohmann::ordered_json& json, const std::string& what);

nlohmann::ordered_json to_json(const DocumentScoreSettings& settings);
/// Throws nlohmann::json::exception if something is missing or of another type; CorruptFile, with `what`, for an
/// unknown scale or source.
DocumentScoreSettings document_score_settings(const nlohmann::ordered_json& json, const std::string& what);

}  // namespace quern
