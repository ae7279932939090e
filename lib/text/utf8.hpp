#pragma once
#include "quern/core/types.hpp"

namespace quern {

/// U+FFFD, the replacement for invalid bytes.
inline constexpr std::string_view replacement_character = "\xEF\xBF\xBD";

/// True for well-formed UTF-8 (Unicode, table 3-7: no overlong forms, no surrogates, nothing above U+10FFFF).
bool is_valid_utf8(std::string_view text);

/// Replaces `out` by `in`, repaired for all later stages: each maximal ill-formed subsequence becomes U+FFFD (Unicode,
/// section 3.9, "substitution of maximal subparts"), control characters other than tab, newline, form feed and carriage
/// return become spaces (an HTML parser would stop at a NUL, and `phrase_end` is reserved), and a byte order mark at
/// the start is removed. Returns the number of inserted U+FFFD.
std::size_t repair_utf8(std::string_view in, std::string& out);

/// repair_utf8() for a text in pieces, which may end anywhere.
class Utf8Repair {
 public:
  /// Appends the next piece, repaired, to `out`; an incomplete character waits for the next piece.
  void append(std::string_view piece, std::string& out);
  /// Ends the text.
  void finish(std::string& out);
  /// The next piece, repaired: a view of it if there is nothing to repair, otherwise of `buffer`, which is overwritten.
  std::string_view repaired(std::string_view piece, std::string& buffer);
  /// The number of inserted U+FFFD so far.
  std::size_t replaced() const { return replaced_; }

 private:
  void append_whole(std::string_view in, std::string& out);

  std::string held_;  ///< the first bytes of a character
  bool at_start_ = true;
  std::size_t replaced_ = 0;
};

/// The longest prefix of at most `max_bytes` bytes that does not split a character.
inline std::string_view cut_at_character(std::string_view text, std::size_t max_bytes) {
  if (text.size() <= max_bytes) return text;
  while (max_bytes > 0 && (static_cast<unsigned char>(text[max_bytes]) & 0xC0) == 0x80) --max_bytes;
  return text.substr(0, max_bytes);
}

/// Number of bytes of an incomplete character at the end of `text`: 0 to 3.
std::size_t partial_character_bytes(std::string_view text);

/// A code point of well-formed UTF-8 and its size in bytes.
struct DecodedPoint {
  char32_t point;
  unsigned bytes;
};

/// Decodes the first code point of `text`, which must not be empty. Ill-formed bytes give U+FFFD and a size of at least
/// 1.
DecodedPoint decode_utf8(std::string_view text);

/// Appends a code point, which must be valid.
void append_utf8(char32_t point, std::string& out);

/// A text quoted for a message, on one line: its first characters, at most `max_bytes` bytes, in quotation marks, with
/// dots if it is longer. Control characters become question marks.
inline std::string quoted_start(std::string_view text, std::size_t max_bytes = 40) {
  const std::string_view shown = cut_at_character(text, max_bytes);
  std::string quoted = "'";
  for (const char c : shown) quoted += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  return quoted += shown.size() < text.size() ? "...'" : "'";
}

/// How much of a page's start html_charset() reads.
inline constexpr std::size_t charset_prescan_bytes = 1024;

/// The character encoding of a web page, in lower case: from its byte order mark, or the charset of the HTTP header
/// Content-Type, or that of a <meta> or else an XML declaration within the first charset_prescan_bytes, or "utf-8". As
/// in browsers (WHATWG HTML and Encoding), "iso-8859-1" and "us-ascii" mean "windows-1252", and a <meta> that names
/// UTF-16 means "utf-8".
std::string html_charset(std::string_view http_content_type, std::string_view html);

/// Converts a text, in pieces that may end anywhere, from `charset` to UTF-8; invalid bytes become U+FFFD. The result
/// needs repair_utf8() next, which also counts its repairs.
class CharsetConverter {
 public:
  explicit CharsetConverter(std::string_view charset);
  ~CharsetConverter();
  CharsetConverter(const CharsetConverter&) = delete;
  CharsetConverter& operator=(const CharsetConverter&) = delete;

  /// False if `charset` is UTF-8 or unknown to the system: treat the text as UTF-8 then, without the other functions.
  bool converts() const { return descriptor_ != nullptr; }
  /// Appends the next piece, converted, to `out`; an incomplete character waits for the next piece.
  void append(std::string_view piece, std::string& out);
  /// Ends the text.
  void finish(std::string& out);

 private:
  struct Descriptor;
  void convert(std::string_view bytes, bool ends, std::string& out);

  std::string charset_;
  std::unique_ptr<Descriptor> descriptor_;
  std::string held_;  ///< the first bytes of a character
  bool at_start_ = true;
};

}  // namespace quern
