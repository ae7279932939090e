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

/// The kind of an element by its name, in any case, of which only letters, digits, - and : are bytes.
TagKind tag_kind(std::string_view name);
/// The same with packed_name(name) known.
TagKind tag_kind(std::string_view name, std::uint64_t front);

/// What extraction reads of a page, in the page's order. Texts and values are views, valid until the call returns.
class HtmlEvents {
 public:
  virtual ~HtmlEvents() = default;

  /// A text, or a part of one that ends outside of references and characters. `plain`: append_page_text() would copy
  /// it.
  virtual void text(std::string_view text, bool plain) = 0;
  /// A tag that separates tokens, after a text that does not end in white space.
  virtual void space() = 0;
  /// Tags that end a phrase, and perhaps others and white space between them.
  virtual void end_phrase() = 0;
  /// <a href=...>; links don't nest. The value of href is as written, without its quotes.
  virtual void begin_link(std::string_view href) = 0;
  virtual void end_link() = 0;
  virtual void area(std::string_view href) = 0;
  virtual void base(std::string_view href) = 0;
  /// The page's title, at most once; tags in it are text.
  virtual void title(std::string_view text) = 0;
};

/// Cuts a page that comes in pieces into what extraction reads.
///
/// Where tags, comments, scripts and style sheets end is decided by the rules of the HTML standard (WHATWG, section
/// 13.2.5) for a browser that runs scripts. Time is linear in the page's size; memory is bounded, as no more than
/// max_look_ahead of a page is held at once. So a tag of more bytes counts as if it weren't there (one of a title or a
/// script does so too), and a title whose end tag does not begin within so many bytes has none. Comments and what isn't
/// shown may have any length.
class HtmlScanner {
 public:
  static constexpr std::size_t max_look_ahead = std::size_t{1} << 20;

  /// `events` must outlive the scanner.
  explicit HtmlScanner(HtmlEvents& events);
  ~HtmlScanner();

  /// Begins a new page.
  void clear();
  /// Reports what is in the next piece. What can't be decided yet waits for the next piece.
  void append(std::string_view piece);
  /// Ends the page.
  void finish();

 private:
  class State;
  HtmlEvents* events_;
  std::unique_ptr<State> state_;
};

}  // namespace quern
