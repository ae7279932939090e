#pragma once
#include "quern/core/types.hpp"

namespace quern {

/// How much of a page's start html_charset() reads.
inline constexpr std::size_t charset_prescan_bytes = 1024;

/// The character encoding of a web page, in lower case: from its byte order mark, or the charset of the HTTP header
/// Content-Type, or that of a <meta> within the first charset_prescan_bytes, or "utf-8". As in browsers (WHATWG
/// Encoding), "iso-8859-1" and "us-ascii" mean "windows-1252", and a <meta> that names UTF-16 means "utf-8".
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
