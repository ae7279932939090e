#pragma once
#include "quern/rank/features/document_view.hpp"
#include "quern/rank/features/feature_info.hpp"

namespace quern {

/// How many of the query's terms a stream has.
struct MatchedTerms {
  static constexpr FeatureInfo features[] = {
      {"matched", FeatureKind::dynamic, "m: distinct terms of the query with tf > 0"},
      {"matched_share", FeatureKind::dynamic, "m / Q; 0 if Q = 0"},
  };
  static constexpr void publish(const StreamView& stream, double* values) {
    std::uint32_t matched = 0;
    for (std::uint32_t i = 0; i < stream.query.num_terms; ++i) matched += stream.tf[i] > 0;
    values[0] = matched;
    values[1] = stream.query.num_terms == 0 ? 0.0 : values[0] / stream.query.num_terms;
  }
};

}  // namespace quern
