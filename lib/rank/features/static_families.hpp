#pragma once
#include "quern/rank/features/document_view.hpp"
#include "quern/rank/features/feature_list.hpp"

namespace quern {

/// Query-independent numbers of a page: its URL, links and PageRank.
struct PageNumbers {
  static constexpr std::string_view group = "document";
  static constexpr FeatureInfo features[] = {
      {"pagerank", FeatureKind::fixed, "PageRank as the index has it, in [0, 1]; 0 if it has none"},
      {"in_links", FeatureKind::fixed, "other documents of the collection that link to it"},
      {"out_links", FeatureKind::fixed, "other documents of the collection that it links to"},
      {"links", FeatureKind::fixed, "all its links, wherever they lead"},
      {"url_bytes", FeatureKind::fixed, "bytes of its URL; 0 if it has none"},
      {"url_depth", FeatureKind::fixed, "segments of its URL's path that are not empty"},
  };
  static constexpr void publish(const DocumentView& document, double* values) {
    values[0] = document.pagerank;
    values[1] = document.in_links;
    values[2] = document.out_links;
    values[3] = document.links;
    values[4] = document.url_bytes;
    values[5] = document.url_depth;
  }
};

/// The document's first-stage score.
struct FirstStage {
  static constexpr std::string_view group = "first_stage";
  static constexpr FeatureInfo features[] = {
      {"score", FeatureKind::dependent, "the document's score in the run that is reordered"},
  };
  static constexpr void publish(const DocumentView& document, double* values) {
    values[0] = document.first_stage_score;
  }
};

/// Numbers of a query, equal for all its documents.
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
