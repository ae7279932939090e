#pragma once
#include "quern/io/piece_source.hpp"
#include "quern/text/text_block.hpp"

namespace quern {

/// Extracts the text and the links of HTML pages in one pass, without building a tree. Create one per thread, for any
/// number of pages. Time is linear in the page's size and memory independent of it, for any content (html_scanner.hpp
/// lists the limits of long tags and titles).
/// - title: the first <title> outside of <svg>.
/// - body: all other text that a browser shows; not script, style, template, noscript and comments. Tags that format a
/// part of a word (a, b, em, span, sub, wbr ...) leave nothing; those that begin a new line or cell (p, div, h1, li,
/// td, br ...) leave a `phrase_end`, others a space, never two in a row. References don't separate: "caf&eacute;" is
/// one token (references.hpp).
/// - links: each <a href> and <area href> in document order, resolved against the page's URL and <base>, with its text.
/// <a> does not nest: a new one ends the previous one.
class HtmlExtractor {
 public:
  /// Further links of a page, or links beyond a total of max_link_bytes of URLs, are dropped.
  static constexpr std::size_t max_links = std::size_t{1} << 17;
  static constexpr std::size_t max_link_bytes = std::size_t{16} << 20;
  /// A link's text is cut after max_anchor_bytes, and all texts of a page's links together after max_link_bytes.
  static constexpr std::size_t max_anchor_bytes = std::size_t{1} << 20;

  HtmlExtractor();
  ~HtmlExtractor();
  HtmlExtractor(const HtmlExtractor&) = delete;
  HtmlExtractor& operator=(const HtmlExtractor&) = delete;

  /// Sets out.title, out.body and out.links, and leaves the rest. `html` is the output of repair_utf8; the charset that
  /// the page declares is ignored. `url` is the page's own address, or empty.
  void extract(PieceSource& html, std::string_view url, DocumentText& out);
  void extract(std::string_view html, std::string_view url, DocumentText& out);

 private:
  class Page;
  std::unique_ptr<Page> page_;
};

}  // namespace quern
