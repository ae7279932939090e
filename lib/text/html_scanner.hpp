#pragma once
#include "quern/core/types.hpp"

namespace quern {

/// The meaning of an HTML element for text extraction.
enum class TagKind : std::uint8_t {
  inline_text,  ///< part of a line: its tags only separate tokens; also all unknown elements
  word_part,    ///< perhaps part of a word: its tags separate nothing
  block,        ///< starts a line, an item or a cell: its tags end a phrase
  title,
  link,     ///< <a>: perhaps part of a word, too
  area,     ///< <area>: a link without text
  base,     ///< <base>: the base URL of links
  raw,      ///< its content isn't shown, and only its end tag ends it
  picture,  ///< <svg>: its <title> is not the page's
};

/// The kind of an element by its name, in any case; the name must consist of letters, digits, - and :.
TagKind tag_kind(std::string_view name);
/// As above with packed_name(name) given.
TagKind tag_kind(std::string_view name, std::uint64_t front);

/// Receives a page's content in page order. Texts and values are views, valid until the call returns.
class HtmlEvents {
 public:
  virtual ~HtmlEvents() = default;

  /// A text, or a part of one that ends outside of references and characters. `plain` if append_page_text() would copy
  /// it unchanged.
  virtual void text(std::string_view text, bool plain) = 0;
  /// A tag that separates tokens, after text that does not end in white space.
  virtual void space() = 0;
  /// One or several tags that end a phrase, including white space and other tags between them.
  virtual void end_phrase() = 0;
  /// <a href=...>; links don't nest. The value of href is as written, without its quotes.
  virtual void begin_link(std::string_view href) = 0;
  virtual void end_link() = 0;
  virtual void area(std::string_view href) = 0;
  virtual void base(std::string_view href) = 0;
  /// The page's title, at most once; tags in it are text.
  virtual void title(std::string_view text) = 0;
};

/// Splits a page, which comes in pieces, into the events of text extraction.
/// Tags, comments, scripts and style sheets end by the rules of the HTML standard (WHATWG, section 13.2.5) for a
/// browser that runs scripts. Time is linear in the page's size; memory is bounded, since at most max_look_ahead of a
/// page is held at once. Longer tags are therefore ignored (in a title or a script too), and a title whose end tag does
/// not begin within that limit isn't a title. Comments and hidden content may have any length.
class HtmlScanner {
 public:
  static constexpr std::size_t max_look_ahead = std::size_t{1} << 20;

  /// `events` must outlive the scanner.
  explicit HtmlScanner(HtmlEvents& events);
  ~HtmlScanner();

  /// Starts a new page.
  void clear();
  /// Reports the content of the next piece. Undecided content waits for the next piece.
  void append(std::string_view piece);
  /// Ends the page.
  void finish();

 private:
  class State;
  HtmlEvents* events_;
  std::unique_ptr<State> state_;
};

}  // namespace quern
