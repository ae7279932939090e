#pragma once
#include "quern/rank/features/document_view.hpp"
#include "quern/rank/features/feature_info.hpp"

namespace quern {

/// BM25 of a stream by itself (Robertson, Walker 1994), with the lengths of that stream.
struct StreamBm25 {
  static constexpr FeatureInfo features[] = {
      {"bm25", FeatureKind::dependent,
       "Σ n · idf · tf · (k1 + 1) / (tf + k1 · (1 - b + b · L / avg)), avg the stream's"},
  };
  static constexpr void publish(const StreamView& stream, double* values) {
    const double saturation = stream.k1 * (1.0 - stream.b + stream.b * (stream.length / stream.average_length));
    double sum = 0;
    for (std::uint32_t i = 0; i < stream.query.num_terms; ++i) {
      if (stream.tf[i] == 0) continue;
      const FeatureTerm& term = stream.query.terms[i];
      const double tf = stream.tf[i];
      sum += term.count * term.idf * (tf * (stream.k1 + 1.0) / (tf + saturation));
    }
    values[0] = sum;
  }
};

}  // namespace quern
