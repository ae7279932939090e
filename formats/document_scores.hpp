#pragma once
#include <nlohmann/json_fwd.hpp>

#include <string>

#include "quern/core/bm25.hpp"

namespace quern {

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
  std::string pagerank_scale = "rank";  ///< how PageRank was mapped to [0, 1]; see order/pagerank_scale.hpp
  PagerankOrigin origin;
  double alpha = 0.3;   ///< PageRank's share of global scores
  Bm25Parameters bm25;  ///< of global scores

  bool operator==(const DocumentScoreSettings&) const = default;
};

nlohmann::ordered_json to_json(const DocumentScoreSettings& settings);
/// Throws nlohmann::json::exception where something is missing or of another type.
DocumentScoreSettings document_score_settings(const nlohmann::ordered_json& json);

}  // namespace quern
