#pragma once
#include <cstdint>
#include <string_view>

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

}  // namespace quern
