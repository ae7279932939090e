#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace quern {

/// What an HTML element means to text extraction.
enum class TagKind : std::uint8_t {
  inline_text,  ///< part of a line: its tags separate tokens, nothing more; unknown elements too
  block,        ///< begins a line, an item or a cell: its tags end a phrase
  title,
  link,     ///< <a>
  area,     ///< <area>: a link without text
  base,     ///< <base>: what links are resolved against
  raw,      ///< what is in it isn't shown, and its end tag alone ends it
  picture,  ///< <svg>: its <title> is not the page's
};

/// The kind of an element by its name, in any case.
TagKind tag_kind(std::string_view name);

/// Cuts a page that comes in pieces down to what extraction reads, in markup that no parser finds hard. That is text
/// with its entities, and of tags only these, in one <whole_page> element that is left open:
/// - <title>...</title>, at most once, without tags inside;
/// - <a href=...>...</a>, never nested, <area href=...> and <base href=...>, each with this attribute alone;
/// - <br>, for all tags that end a phrase; a space stands for every other tag. Never two of these in a row.
///
/// Where tags, comments, scripts and style sheets end is decided here, by the rules of the HTML standard (WHATWG,
/// section 13.2.5) for a browser that runs scripts. Time and size are linear in the page's; memory is bounded, as no
/// more than max_look_ahead of a page is held at once. So a tag of more bytes counts as if it weren't there (one of a
/// title or a script does so too), and a title whose end tag does not begin within so many bytes has none. Comments
/// and what isn't shown may have any length.
///
/// Why: libxml2 compares each attribute of a tag with all before it and each end tag with all open elements, which
/// takes minutes on a page made for that; it stops at the first </html>; and most of a page's tags, and its
/// attributes, scripts and comments, it would read byte by byte for nothing.
class HtmlFilter {
 public:
  static constexpr std::size_t max_look_ahead = std::size_t{1} << 20;

  HtmlFilter();
  ~HtmlFilter();

  /// Begins a new page.
  void clear();
  /// Appends what is left of the next piece to `out`, up to a place outside of tags, references and characters. What
  /// can't be decided yet waits for the next piece.
  void append(std::string_view piece, std::string& out);
  /// Ends the page.
  void finish(std::string& out);

 private:
  class State;
  std::unique_ptr<State> state_;
};

/// Replaces `out` by a page, filtered.
void filter_html(std::string_view html, std::string& out);

}  // namespace quern
