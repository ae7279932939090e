#pragma once
#include "quern/core/types.hpp"

namespace quern {

/// The input that a feature depends on (Tadros 2015, section 3.2).
enum class FeatureKind : std::uint8_t {
  fixed,      ///< the document alone ("static")
  query,      ///< the query alone
  dynamic,    ///< the query's terms in the document
  dependent,  ///< these and statistics of the collection
};

/// A family's description of a feature; names of stream features get the stream's name as prefix.
struct FeatureInfo {
  std::string_view name;
  FeatureKind kind;
  std::string_view formula;  ///< equal to that in formats/features.md
};

/// A feature with its full name.
struct Feature {
  std::string name;  ///< such as "body.bm25" or "document.pagerank"
  FeatureKind kind;
  std::string formula;
};

std::string_view name_of(FeatureKind kind);

/// All features, numbered from 0: those of title, body, url and anchor, then those of the document, the query and the
/// first stage.
const std::vector<Feature>& all_features();

/// The distinct numbers in all_features() of the features that `choice` names: names or patterns with *, separated by
/// commas, such as "body.*,document.pagerank"; "all" selects all. In the order of the choice, those of one pattern in
/// ascending order. Throws InvalidArgument for a name or pattern without a feature.
std::vector<std::uint32_t> select_features(std::string_view choice);

}  // namespace quern
