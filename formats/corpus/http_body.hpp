#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "quern/io/piece_source.hpp"

/// The body of a stored HTTP response, decoded while it is read.
namespace quern {

/// Opens a text to be read from its front, once more with each call.
using OpenPieces = std::function<std::unique_ptr<PieceSource>()>;

/// Undoes Transfer-Encoding: chunked (RFC 9112, 7.1). Gives `body` itself where it isn't chunked after all (crawlers
/// that stored it whole keep the header); of a cut body, what is there.
OpenPieces without_chunks(OpenPieces body);

/// Undoes a Content-Encoding of gzip or deflate (RFC 9110, 8.4), also several. Where the body isn't compressed after
/// all, it is given as it is; of a cut body, what is there. Memory is a few buffers, whatever the sizes.
class DecodedBody {
 public:
  DecodedBody(OpenPieces body, std::string_view content_encoding, std::uint64_t max_bytes);
  DecodedBody(const DecodedBody&) = delete;
  DecodedBody& operator=(const DecodedBody&) = delete;

  /// The decoded body, to be read once.
  PieceSource& pieces() { return *pieces_; }
  /// Reads what is left, and says what is wrong with the body; empty if nothing is: the encoding is another, the data
  /// is damaged, or the result of a step is larger than `max_bytes`. Then pieces() gave only a part.
  const std::string& problem();

 private:
  std::string problem_;
  std::unique_ptr<PieceSource> pieces_;
};

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
