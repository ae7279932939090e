#pragma once
#include <string>
#include <vector>

#include "quern/text/text_block.hpp"

namespace quern::testing {

/// A document with all of its text in memory, for comparisons.
struct PlainDocument {
  PlainDocument() = default;
  explicit PlainDocument(const DocumentText& text)
      : docno(text.docno), url(text.url), title(text.title.str()), body(text.body.str()), links(text.links.all()) {}
  bool operator==(const PlainDocument&) const = default;

  std::string docno, url, title, body;
  std::vector<Link> links;
};

}  // namespace quern::testing
