#pragma once
#include "quern/rank/features/document_view.hpp"
#include "quern/rank/features/feature_info.hpp"

namespace quern {

/// Numbers of a page that no query changes: its URL, its links, its PageRank.
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

}  // namespace quern
