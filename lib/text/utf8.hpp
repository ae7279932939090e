#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace quern {

/// U+FFFD, which stands where bytes were not UTF-8.
inline constexpr std::string_view replacement_character = "\xEF\xBF\xBD";

/// True for well-formed UTF-8 (Unicode, table 3-7: no overlong forms, no surrogates, nothing above U+10FFFF).
bool is_valid_utf8(std::string_view text);

/// Replaces `out` by `in` as text that every later stage can take: each maximal ill-formed subsequence becomes U+FFFD
/// (Unicode, section 3.9, "substitution of maximal subparts"), control characters other than tab, newline, form feed
/// and carriage return become spaces (an HTML parser would stop at a NUL, and `phrase_end` is ours), and a byte order
/// mark at the start goes. Returns how many U+FFFD were put in.
std::size_t repair_utf8(std::string_view in, std::string& out);

/// The same for a text in pieces, wherever they end.
class Utf8Repair {
 public:
  /// Appends the next piece, repaired, to `out`; a character that lacks bytes waits for the next piece.
  void append(std::string_view piece, std::string& out);
  /// Ends the text.
  void finish(std::string& out);
  /// The next piece, repaired: a view of it where there is nothing to repair, else of `buffer`, which is replaced.
  std::string_view repaired(std::string_view piece, std::string& buffer);
  /// How many U+FFFD were put in so far.
  std::size_t replaced() const { return replaced_; }

 private:
  void append_whole(std::string_view in, std::string& out);

  std::string held_;  ///< the first bytes of a character
  bool at_start_ = true;
  std::size_t replaced_ = 0;
};

/// The longest prefix of at most `max_bytes` bytes that ends between characters.
inline std::string_view cut_at_character(std::string_view text, std::size_t max_bytes) {
  if (text.size() <= max_bytes) return text;
  while (max_bytes > 0 && (static_cast<unsigned char>(text[max_bytes]) & 0xC0) == 0x80) --max_bytes;
  return text.substr(0, max_bytes);
}

/// How many bytes at the end of `text` begin a character that lacks its other bytes: 0 to 3.
std::size_t partial_character_bytes(std::string_view text);

/// One code point of well-formed UTF-8 and how many bytes it took.
struct DecodedPoint {
  char32_t point;
  unsigned bytes;
};

/// Decodes the code point at the front of `text`, which is not empty. Ill-formed bytes give U+FFFD and at least 1 byte.
DecodedPoint decode_utf8(std::string_view text);

/// A text as messages quote it, in one line: its first characters, of at most `max_bytes`, in quotation marks, with
/// dots if there are more. Control characters are shown as question marks.
inline std::string quoted_start(std::string_view text, std::size_t max_bytes = 40) {
  const std::string_view shown = cut_at_character(text, max_bytes);
  std::string quoted = "'";
  for (const char c : shown) quoted += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  return quoted += shown.size() < text.size() ? "...'" : "'";
}

}  // namespace quern
