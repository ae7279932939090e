#pragma once
#include "quern/core/types.hpp"

/// Character references: &amp; &#233; &#xE9; and the names of HTML 4, and of HTML 5 but for mathematical symbols.
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
/// 4.01 (section 24), and of HTML 5 but for mathematical and most other symbols, case-sensitive. 0 if unknown.
std::uint32_t entity_value(std::string_view name);

/// Length of the longest HTML name that needs no semicolon.
inline constexpr std::size_t max_bare_name_bytes = 6;

/// As above for names that need no semicolon, as in "&nbsp2": those of Latin-1 and of markup characters.
std::uint32_t bare_entity_value(std::string_view name);

/// A name's first eight bytes as a number, the first byte lowest. Distinct for names of up to eight nonzero bytes.
constexpr std::uint64_t packed_name(std::string_view name) {
  std::uint64_t bytes = 0;
  for (std::size_t i = name.size() < 8 ? name.size() : 8; i-- > 0;)
    bytes = bytes << 8 | static_cast<unsigned char>(name[i]);
  return bytes;
}

/// A hash table of markup names by packed_name(), with linear probing. Each row has a member `name`; at most half of
/// the slots may be filled.
template <std::size_t bits>
class PackedNameTable {
 public:
  template <class Row, std::size_t n>
  constexpr explicit PackedNameTable(const Row (&rows)[n]) {
    static_assert(n * 2 <= num_slots && n < none);
    for (std::size_t row = 0; row < n; ++row) {
      const std::uint64_t key = packed_name(rows[row].name);
      std::size_t slot = slot_of(key);
      while (keys_[slot] != 0) slot = next(slot);
      keys_[slot] = key;
      rows_[slot] = static_cast<std::uint16_t>(row);
    }
  }

  static constexpr std::size_t none = 0xffff;
  /// The index of the row with this packed name; `none` if there is none.
  constexpr std::size_t find(std::uint64_t key) const {
    for (std::size_t slot = slot_of(key); keys_[slot] != 0; slot = next(slot))
      if (keys_[slot] == key) return rows_[slot];
    return none;
  }

 private:
  static constexpr std::size_t num_slots = std::size_t{1} << bits;
  static constexpr std::size_t slot_of(std::uint64_t key) {
    return static_cast<std::size_t>(key * 0x9E3779B97F4A7C15u >> (64 - bits));
  }
  static constexpr std::size_t next(std::size_t slot) { return (slot + 1) % num_slots; }

  std::array<std::uint64_t, num_slots> keys_{};
  std::array<std::uint16_t, num_slots> rows_{};
};

}  // namespace quern
