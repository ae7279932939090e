#pragma once
#include "quern/rank/features/document_view.hpp"
#include "quern/rank/features/feature_info.hpp"

namespace quern {

/// How many of the query's terms any stream of a document has.
struct DocumentMatches {
  static constexpr std::string_view group = "document";
  static constexpr FeatureInfo features[] = {
      {"matched", FeatureKind::dynamic, "distinct terms of the query with tf > 0 in any stream"},
      {"matched_share", FeatureKind::dynamic, "the same / Q; 0 if Q = 0"},
      {"matched_idf_share", FeatureKind::dependent, "Σ idf of these terms / Σ idf of all; 0 if that is 0"},
  };
  static constexpr void publish(const DocumentView& document, double* values) {
    const FeatureQueryView& query = document.streams[0].query;
    std::uint32_t matched = 0;
    double idf_of_matched = 0, idf_of_all = 0;
    for (std::uint32_t i = 0; i < query.num_terms; ++i) {
      bool any = false;
      for (std::size_t s = 0; s < num_document_streams; ++s) any = any || document.streams[s].tf[i] > 0;
      matched += any;
      idf_of_all += query.terms[i].idf;
      if (any) idf_of_matched += query.terms[i].idf;
    }
    values[0] = matched;
    values[1] = query.num_terms == 0 ? 0.0 : values[0] / query.num_terms;
    values[2] = idf_of_all == 0 ? 0.0 : idf_of_matched / idf_of_all;
  }
};

}  // namespace quern
