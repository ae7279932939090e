#pragma once
#include "quern/io/piece_source.hpp"

/// The body of a stored HTTP response, decoded while it is read.
namespace quern {

/// Opens a text; each call reads it again from its start.
using OpenPieces = std::function<std::unique_ptr<PieceSource>()>;

/// Undoes Transfer-Encoding: chunked (RFC 9112, 7.1). Returns `body` itself if it isn't chunked (crawlers that store it
/// decoded keep the header); returns a truncated body as far as it goes.
OpenPieces without_chunks(OpenPieces body);

/// Undoes codings of gzip, deflate (RFC 9110, 8.4), br (RFC 7932), zstd (RFC 8878) and chunked, or several of them.
/// Returns an uncompressed body as it is, whatever encoding is named, and a truncated body as far as it goes; decodes
/// gzip and zstd also where they aren't named. Memory use is a few buffers, and a window of up to 16 MiB for br and 8
/// MiB for zstd, whatever the sizes.
class DecodedBody {
 public:
  /// `codings`, the one applied last at the end, with commas between: Content-Encoding, then Transfer-Encoding.
  DecodedBody(OpenPieces body, std::string_view codings, std::uint64_t max_bytes);
  DecodedBody(const DecodedBody&) = delete;
  DecodedBody& operator=(const DecodedBody&) = delete;

  /// The decoded body; can be read once.
  PieceSource& pieces() { return *pieces_; }
  /// Reads the rest and returns the body's error, if any: an unknown encoding of binary data, damaged data, or a
  /// decoding result larger than `max_bytes`. After an error, pieces() has returned only a part.
  const std::string& problem();

 private:
  std::string problem_;
  std::unique_ptr<PieceSource> pieces_;
};

/// Removes the first line from `rest` and returns it without its line end ("\r\n" or "\n"), which the last line may
/// lack.
std::string_view take_line(std::string_view& rest);

/// Splits "Name: value", both trimmed; false if there is no colon or no name.
bool split_header(std::string_view line, std::string_view& name, std::string_view& value);

/// A stored HTTP response (RFC 9112), as views of its bytes. Missing parts are empty. Codings are lists with commas.
struct HttpResponse {
  int status = 0;  ///< 0: no status line
  std::string_view content_type;
  std::string transfer_encoding, content_encoding;
  std::string_view body;
};

/// Reads header lines up to the empty line, with any line ends, and skips lines that aren't headers. A block that
/// begins with neither a status line nor a header is all body.
HttpResponse parse_http_response(std::string_view block);

/// Reads header lines without a body, as in DOCHDR.
HttpResponse parse_http_headers(std::string_view lines);

}  // namespace quern
