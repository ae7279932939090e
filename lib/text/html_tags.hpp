#pragma once
#include <cstdint>

namespace quern {

/// What an HTML element means to text extraction.
enum class TagKind : std::uint8_t {
  inline_text,  ///< part of a line: its tags separate tokens, nothing more (unknown elements too)
  block,        ///< begins a line or a cell: its tags end a phrase
  title,
  link,    ///< <a>
  area,    ///< <area>: a link without text
  base,    ///< <base>: what links are resolved against
  hidden,  ///< its content isn't shown: script, style, template, noscript
  picture  ///< <svg>: its <title> is not the page's
};

/// The kind of an element by its lower-case name.
TagKind tag_kind(const char* name);

}  // namespace quern
