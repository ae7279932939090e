#pragma once
#include <string>
#include <string_view>

namespace quern {

/// The character encoding of a web page, in lower case: what its byte order mark says, else the charset of the HTTP
/// header Content-Type, else that of a <meta> among the first 1,024 bytes, else "utf-8". As browsers do (WHATWG
/// Encoding), "iso-8859-1" and "us-ascii" mean "windows-1252", and a <meta> that names UTF-16 means "utf-8".
std::string html_charset(std::string_view http_content_type, std::string_view html);

/// Replaces `out` by `in` converted from `charset` to UTF-8; bytes that mean nothing there become U+FFFD. False, with
/// `out` empty, where there is nothing to convert from: `charset` is UTF-8 already, or unknown to the system, and is
/// then best taken for UTF-8. Either way the text needs repair_utf8 next, which also counts what it repairs.
bool to_utf8(std::string_view in, std::string_view charset, std::string& out);

}  // namespace quern
