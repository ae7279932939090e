#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

/// Character references: &amp; &#233; &#xE9; and the names of HTML 4.
namespace quern {

/// Appends text of a web page, well-formed UTF-8, with its references resolved. Numbers and the names of Latin-1
/// characters need no semicolon ("caf&eacute", "&nbsp2"), as in browsers; an & that begins no reference stays.
/// Characters that XML does not allow go, written or as a reference: form feeds, U+FFFE, U+FFFF, numbers beyond
/// Unicode.
void append_page_text(std::string_view text, std::string& out);

/// Where in `text`, from `from` on, the first byte lies that is a < or that append_page_text() may not copy as it is;
/// the size of `text` if there is none.
std::size_t find_markup_or_reference(std::string_view text, std::size_t from);

/// The value of an attribute of a web page with its references resolved: `value` itself, or `buffer` where it has any.
/// Names need their semicolon here, since addresses have parameters ("?a=1&copy=2"), numbers do not. A number that is
/// no character of XML ends the value.
std::string_view attribute_text(std::string_view value, std::string& buffer);

/// How much of `text`, which goes on, does not depend on what follows: what is left may begin a reference or a
/// character. One that is open for `max_bytes` is taken for text.
std::size_t decided_page_text_bytes(std::string_view text, std::size_t max_bytes);

/// Appends `text` with its references resolved, also the older "&blank;" and "&hyph;" of the Federal Register. Anything
/// else stays as it is. Control characters become spaces.
void append_without_references(std::string_view text, std::string& out);

/// The code point of a named character reference, as in "&eacute;", by its name without & and ;. The names are those of
/// HTML 4.01 (section 24) and "apos", in their case. 0 if there is no such name.
std::uint32_t entity_value(std::string_view name);

/// No name of HTML that goes without a semicolon is longer.
inline constexpr std::size_t max_bare_name_bytes = 6;

/// The same of the names that go without a semicolon, as in "&nbsp2": those of Latin-1 and of the characters of markup.
std::uint32_t bare_entity_value(std::string_view name);

}  // namespace quern
