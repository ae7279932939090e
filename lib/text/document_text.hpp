#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace quern {

/// In a DocumentText's streams: the end of a phrase (a heading, a paragraph, a list item, a table cell). Everything
/// else that separates tokens, tags included, is there as white space.
inline constexpr char phrase_end = '\x1e';

/// A link out of a document: its target, absolute, as written but resolved, and the text it is clicked on.
struct Link {
  std::string url;
  std::string anchor;
  bool operator==(const Link&) const = default;
};

/// What there is to index in one document: valid UTF-8, entities resolved, no tags.
struct DocumentText {
  std::string docno;
  std::string url;  ///< empty if the document has none
  std::string title;
  std::string body;
  std::vector<Link> links;

  void clear() {
    docno.clear();
    url.clear();
    title.clear();
    body.clear();
    links.clear();
  }
};

}  // namespace quern
