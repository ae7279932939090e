#pragma once
#include "quern/rank/features/aggregate.hpp"
#include "quern/rank/features/document_view.hpp"
#include "quern/rank/features/feature_info.hpp"

namespace quern {

/// How often, by how rare the terms are.
struct TfIdf {
  static constexpr FeatureInfo features[] = {
      {"tf_idf_sum", FeatureKind::dependent, "Σ tf · idf"},
      {"tf_idf_min", FeatureKind::dependent, "min tf · idf"},
      {"tf_idf_max", FeatureKind::dependent, "max tf · idf"},
      {"tf_idf_mean", FeatureKind::dependent, "mean tf · idf"},
      {"tf_idf_variance", FeatureKind::dependent, "mean of (tf · idf - mean)²"},
  };
  static constexpr void publish(const StreamView& stream, double* values) {
    publish_aggregates(
        stream.query.num_terms, [&stream](std::uint32_t i) { return stream.tf[i] * stream.query.terms[i].idf; },
        values);
  }
};

}  // namespace quern
