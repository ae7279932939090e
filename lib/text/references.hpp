#pragma once
#include "quern/core/types.hpp"

/// Character references: &amp; &#233; &#xE9; and the names of HTML 4.
namespace quern {

/// Appends text of a web page, well-formed UTF-8, with its references resolved. Numbers and names of Latin-1 characters
/// need no semicolon ("caf&eacute", "&nbsp2"), as in browsers; an & that begins no reference stays. Drops characters
/// that XML does not allow, written directly or as a reference: form feeds, U+FFFE, U+FFFF, numbers beyond Unicode.
void append_page_text(std::string_view text, std::string& out);

/// The position at or after `from` of the first < or the first byte that append_page_text() may not copy unchanged;
/// text.size() if there is none.
std::size_t find_markup_or_reference(std::string_view text, std::size_t from);

/// An attribute's value with its references resolved: `value` itself if it has none, otherwise `buffer`. Names need
/// their semicolon here, since URLs have parameters ("?a=1&copy=2"); numbers do not. A number that is not an XML
/// character ends the value.
std::string_view attribute_text(std::string_view value, std::string& buffer);

/// The size of the prefix of an incomplete `text` whose meaning later bytes can't change: the rest may begin a
/// reference or a character. A reference that is still open after `max_bytes` counts as text.
std::size_t decided_page_text_bytes(std::string_view text, std::size_t max_bytes);

/// Appends `text` with its references resolved, including the older "&blank;" and "&hyph;" of the Federal Register.
/// Unknown references stay. Control characters become spaces.
void append_without_references(std::string_view text, std::string& out);

/// The code point of a named character reference such as "&eacute;", given without & and ;. Names are those of HTML
/// 4.01 (section 24) and "apos", case-sensitive. 0 if unknown.
std::uint32_t entity_value(std::string_view name);

/// Length of the longest HTML name that needs no semicolon.
inline constexpr std::size_t max_bare_name_bytes = 6;

/// As above for names that need no semicolon, as in "&nbsp2": those of Latin-1 and of markup characters.
std::uint32_t bare_entity_value(std::string_view name);

}  // namespace quern
