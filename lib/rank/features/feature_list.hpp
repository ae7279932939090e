#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace quern {

/// What a feature depends on (Tadros 2015, section 3.2).
enum class FeatureKind : std::uint8_t {
  fixed,      ///< the document alone ("static")
  query,      ///< the query alone
  dynamic,    ///< where the query's terms are in the document
  dependent,  ///< that, and statistics of the collection
};

/// A feature as its family describes it; features of streams get the stream's name in front.
struct FeatureInfo {
  std::string_view name;
  FeatureKind kind;
  std::string_view formula;  ///< as in formats/features.md
};

/// A feature by its whole name.
struct Feature {
  std::string name;  ///< as "body.bm25" or "document.pagerank"
  FeatureKind kind;
  std::string formula;
};

std::string_view name_of(FeatureKind kind);

/// All features, numbered from 0: those of title, body, url and anchor, then those of the document, the query and the
/// first stage.
const std::vector<Feature>& all_features();

/// The features that `choice` names: names or patterns with * between commas, as "body.*,document.pagerank"; "all"
/// stands for all of them. Numbers in all_features(), in the order in which they are named, those of one pattern in
/// their own order, each once. Throws InvalidArgument for a name or pattern that no feature has.
std::vector<std::uint32_t> select_features(std::string_view choice);

}  // namespace quern
