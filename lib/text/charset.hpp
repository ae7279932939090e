#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace quern {

/// How much of a page html_charset() reads.
inline constexpr std::size_t charset_prescan_bytes = 1024;

/// The character encoding of a web page, in lower case: what its byte order mark says, else the charset of the HTTP
/// header Content-Type, else that of a <meta> among the first charset_prescan_bytes, else "utf-8". As browsers do
/// (WHATWG Encoding), "iso-8859-1" and "us-ascii" mean "windows-1252", and a <meta> that names UTF-16 means "utf-8".
std::string html_charset(std::string_view http_content_type, std::string_view html);

/// Replaces `out` by `in` converted from `charset` to UTF-8; bytes that mean nothing there become U+FFFD. False, with
/// `out` empty, where there is nothing to convert from: `charset` is UTF-8 already, or unknown to the system, and is
/// then best taken for UTF-8. Either way the text needs repair_utf8 next, which also counts what it repairs.
bool to_utf8(std::string_view in, std::string_view charset, std::string& out);

/// The same for a text in pieces, wherever they end.
class CharsetConverter {
 public:
  explicit CharsetConverter(std::string_view charset);
  ~CharsetConverter();
  CharsetConverter(const CharsetConverter&) = delete;
  CharsetConverter& operator=(const CharsetConverter&) = delete;

  /// False where there is nothing to convert from; the other functions must then not be called.
  bool converts() const { return descriptor_ != nullptr; }
  /// Appends the next piece, converted, to `out`; a character that lacks bytes waits for the next piece.
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
