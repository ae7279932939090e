#pragma once
#include "quern/rank/features/document_view.hpp"
#include "quern/rank/features/feature_info.hpp"

namespace quern {

/// BM25F: frequencies of all streams are added up before they are saturated (Robertson, Zaragoza, Taylor: Simple BM25
/// Extension to Multiple Weighted Fields, CIKM 2004).
struct Bm25f {
  struct StreamParameters {
    double weight, b;
  };
  static constexpr std::string_view group = "document";
  static constexpr FeatureInfo features[] = {
      {"bm25f", FeatureKind::dependent, "Σ idf · t / (k1 + t), t = Σ over streams w · tf / (1 - b + b · L / avg)"},
      {"bm25f_share", FeatureKind::dependent, "bm25f / Σ idf; 0 if that is 0"},
  };
  static constexpr void publish(const DocumentView& document, double* values) {
    // Of title, body, url, anchor; here, since kernels do not see static arrays.
    constexpr StreamParameters parameters[num_document_streams] = {{3.0, 0.5}, {1.0, 0.75}, {1.5, 0.5}, {2.0, 0.5}};
    double divisors[num_document_streams] = {};
    for (std::size_t s = 0; s < num_document_streams; ++s) {
      const StreamView& stream = document.streams[s];
      divisors[s] = 1.0 - parameters[s].b + parameters[s].b * (stream.length / stream.average_length);
    }
    const StreamView& any = document.streams[0];
    double sum = 0, greatest = 0;
    for (std::uint32_t i = 0; i < any.query.num_terms; ++i) {
      const double idf = any.query.terms[i].idf;
      double t = 0;
      for (std::size_t s = 0; s < num_document_streams; ++s)
        t += parameters[s].weight * document.streams[s].tf[i] / divisors[s];
      greatest += idf;
      if (t > 0) sum += idf * (t / (any.k1 + t));
    }
    values[0] = sum;
    values[1] = greatest == 0 ? 0.0 : sum / greatest;
  }
};

}  // namespace quern
