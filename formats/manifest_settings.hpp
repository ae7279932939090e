#pragma once
#include <nlohmann/json_fwd.hpp>

#include <string>

#include "quern/core/bm25.hpp"
#include "quern/core/named.hpp"

/// Settings that the manifests of several kinds of files share.
namespace quern {

/// What parsing does with documents whose docno an earlier document has.
enum class Duplicates {
  keep,   ///< count them, keep all
  refuse  ///< fail
};
inline constexpr NamedValue<Duplicates> duplicates_names[] = {{"keep", Duplicates::keep},
                                                              {"refuse", Duplicates::refuse}};

/// What an index's document lengths are.
enum class Lengths {
  exact,  ///< the sums of the documents' frequencies
  lossy   ///< numbers that came from an imported file, or from a generator, and may differ from the sums
};
inline constexpr NamedValue<Lengths> lengths_names[] = {{"exact", Lengths::exact}, {"lossy", Lengths::lossy}};

/// Where documents' PageRank came from. Manifests have the names in `from`.
struct PagerankOrigin {
  std::string from;       ///< one of those below; empty if nothing says
  std::string file_hash;  ///< of the file's bytes, decompressed: hash_text() of their XXH3-64; empty without a file

  bool operator==(const PagerankOrigin&) const = default;
};
inline constexpr const char* pagerank_from_links = "links";            ///< PageRank over the collection's own links
inline constexpr const char* pagerank_from_link_file = "link file";    ///< PageRank over a file's links
inline constexpr const char* pagerank_from_score_file = "score file";  ///< taken from a file
inline constexpr const char* pagerank_uniform = "uniform";             ///< all documents have the same

/// What made the scores that documents have by themselves: PageRank as scores use it, and global scores. Stored in the
/// manifests of orders and indexes that hold such scores.
struct DocumentScoreSettings {
  std::string pagerank_scale = "rank";  ///< how PageRank was mapped to [0, 1]; see order/pagerank.hpp
  PagerankOrigin origin;
  double alpha = 0.3;   ///< PageRank's share of global scores
  Bm25Parameters bm25;  ///< of global scores

  bool operator==(const DocumentScoreSettings&) const = default;
};

nlohmann::ordered_json to_json(const DocumentScoreSettings& settings);
/// Throws nlohmann::json::exception where something is missing or of another type.
DocumentScoreSettings document_score_settings(const nlohmann::ordered_json& json);

}  // namespace quern
