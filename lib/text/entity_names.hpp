#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace quern {

/// The code point of a named character reference, as in "&eacute;", by its name without & and ;. The names are those of
/// HTML 4.01 (section 24) and "apos", in their case. 0 if there is no such name.
std::uint32_t entity_value(std::string_view name);

/// No name of HTML that goes without a semicolon is longer.
inline constexpr std::size_t max_bare_name_bytes = 6;

/// The same of the names that go without a semicolon, as in "&nbsp2": those of Latin-1 and of the characters of markup.
std::uint32_t bare_entity_value(std::string_view name);

}  // namespace quern
