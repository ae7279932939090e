#pragma once
#include "quern/rank/features/aggregate.hpp"
#include "quern/rank/features/document_view.hpp"
#include "quern/rank/features/feature_info.hpp"

namespace quern {

/// How often, by the stream's length.
struct RelativeFrequencies {
  static constexpr FeatureInfo features[] = {
      {"tf_by_length_sum", FeatureKind::dynamic, "Σ tf / L"},
      {"tf_by_length_min", FeatureKind::dynamic, "min tf / L"},
      {"tf_by_length_max", FeatureKind::dynamic, "max tf / L"},
      {"tf_by_length_mean", FeatureKind::dynamic, "mean tf / L"},
      {"tf_by_length_variance", FeatureKind::dynamic, "mean of (tf / L - mean)²"},
  };
  static constexpr void publish(const StreamView& stream, double* values) {
    publish_aggregates(
        stream.query.num_terms,
        [&stream](std::uint32_t i) {
          return stream.length == 0 ? 0.0 : static_cast<double>(stream.tf[i]) / stream.length;
        },
        values);
  }
};

}  // namespace quern
