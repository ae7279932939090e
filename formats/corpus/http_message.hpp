#pragma once
#include <string_view>

namespace quern {

/// Takes the first line off `rest`, without its line end ("\r\n" or "\n"). The last line may lack one.
std::string_view take_line(std::string_view& rest);

/// Splits "Name: value", both trimmed; false if there is no colon or no name.
bool split_header(std::string_view line, std::string_view& name, std::string_view& value);

/// A stored HTTP response (RFC 9112), as views of its bytes. Parts that are missing are empty.
struct HttpResponse {
  int status = 0;  ///< 0: no status line
  std::string_view content_type;
  std::string_view transfer_encoding;
  std::string_view content_encoding;
  std::string_view body;
};

/// Reads header lines up to the empty line, whatever their line ends, and skips lines that are not headers. A block
/// that doesn't begin with a status line or a header is all body.
HttpResponse parse_http_response(std::string_view block);

/// The header lines alone, without a body: as DOCHDR has them.
HttpResponse parse_http_headers(std::string_view lines);

}  // namespace quern
