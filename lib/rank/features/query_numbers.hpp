#pragma once
#include "quern/rank/features/document_view.hpp"
#include "quern/rank/features/feature_info.hpp"

namespace quern {

/// Numbers of a query, the same for all its documents.
struct QueryNumbers {
  static constexpr std::string_view group = "query";
  static constexpr FeatureInfo features[] = {
      {"terms", FeatureKind::query, "Q: distinct terms of the query"},
      {"length", FeatureKind::query, "length(q): terms of the query, each as often as it occurs"},
      {"idf_sum", FeatureKind::query, "Σ idf"},
      {"idf_min", FeatureKind::query, "min idf; 0 if Q = 0"},
      {"idf_max", FeatureKind::query, "max idf; 0 if Q = 0"},
  };
  static constexpr void publish(const DocumentView& document, double* values) {
    const FeatureQueryView& query = document.streams[0].query;
    double sum = 0, least = 0, greatest = 0;
    for (std::uint32_t i = 0; i < query.num_terms; ++i) {
      const double idf = query.terms[i].idf;
      sum += idf;
      if (i == 0 || idf < least) least = idf;
      if (i == 0 || idf > greatest) greatest = idf;
    }
    values[0] = query.num_terms;
    values[1] = query.length;
    values[2] = sum;
    values[3] = least;
    values[4] = greatest;
  }
};

}  // namespace quern
