#include <cstdint>
#include <cstdlib>
#include <string>

#include "quern/text/html.hpp"
#include "quern/text/url.hpp"
#include "quern/text/utf8.hpp"

#include "../text/converted.hpp"
#include "../text/pieces.hpp"
#include "../text/plain_document.hpp"

/// A page of any bytes gives valid UTF-8, no more text than it contains, and absolute links, and the same when parsed
/// in pieces.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  static quern::HtmlExtractor extractor;
  std::string page;
  const auto converted = quern::testing::converted(bytes, quern::html_charset("", bytes));
  quern::repair_utf8(converted ? *converted : bytes, page);
  quern::DocumentText whole, in_pieces;
  extractor.extract(page, "http://example.org/a/b", whole);
  quern::testing::RandomPieces pieces(page, 1 + size % 40, size);
  extractor.extract(pieces, "http://example.org/a/b", in_pieces);
  const quern::testing::PlainDocument text(whole);
  if (quern::testing::PlainDocument(in_pieces) != text) std::abort();
  if (!quern::is_valid_utf8(text.title) || !quern::is_valid_utf8(text.body)) std::abort();
  if (text.title.size() + text.body.size() > page.size()) std::abort();
  for (const quern::Link& link : text.links) {
    if (!quern::is_valid_utf8(link.anchor) || link.url.find("://") == std::string::npos) std::abort();
    if (quern::resolve_url("", link.url) != link.url) std::abort();
  }
  return 0;
}
