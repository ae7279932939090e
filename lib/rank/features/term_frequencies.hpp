#pragma once
#include "quern/rank/features/aggregate.hpp"
#include "quern/rank/features/document_view.hpp"
#include "quern/rank/features/feature_info.hpp"

namespace quern {

/// How often a stream has the query's terms.
struct TermFrequencies {
  static constexpr FeatureInfo features[] = {
      {"tf_sum", FeatureKind::dynamic, "Σ tf"},
      {"tf_min", FeatureKind::dynamic, "min tf"},
      {"tf_max", FeatureKind::dynamic, "max tf"},
      {"tf_mean", FeatureKind::dynamic, "mean tf"},
      {"tf_variance", FeatureKind::dynamic, "mean of (tf - mean)²"},
  };
  static constexpr void publish(const StreamView& stream, double* values) {
    publish_aggregates(
        stream.query.num_terms, [&stream](std::uint32_t i) { return static_cast<double>(stream.tf[i]); }, values);
  }
};

}  // namespace quern
