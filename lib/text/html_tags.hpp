#pragma once
#include <cstdint>
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

}  // namespace quern
