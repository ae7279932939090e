#pragma once
#include <string>

#include "quern/core/types.hpp"
#include "quern/text/spooled_links.hpp"
#include "quern/text/spooled_text.hpp"
#include "quern/text/spooled_weights.hpp"

namespace quern {

/// In a DocumentText's streams: the end of a phrase (a heading, a paragraph, a list item, a table cell). Everything
/// else that separates tokens, tags included, is there as white space.
inline constexpr char phrase_end = '\x1e';

/// What there is to index in one document: valid UTF-8, entities resolved, no tags.
struct DocumentText {
  /// Title, body, links and weights go to work files in `tmp_folder` where they are large.
  explicit DocumentText(const std::string& tmp_folder = ".")
      : title(tmp_folder), body(tmp_folder), links(tmp_folder), weights(tmp_folder) {}

  std::string docno;
  std::string url;  ///< empty if the document has none
  SpooledText title;
  SpooledText body;
  SpooledLinks links;
  SpooledWeights weights;  ///< of terms, if the corpus gives them: these are indexed then, and not the texts
  Bytes kept;  ///< values of kept fields, coded one after another (field_value.hpp); empty: the document has none

  void clear() {
    docno.clear();
    url.clear();
    title.clear();
    body.clear();
    links.clear();
    weights.clear();
    kept.clear();
  }
};

}  // namespace quern
