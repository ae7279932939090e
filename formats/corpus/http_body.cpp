#include "quern/formats/corpus/http_body.hpp"

#include <zlib.h>

#include <charconv>
#include <limits>
#include <new>

#include "quern/core/bytes.hpp"

namespace quern {
namespace {

void read_to_end(PieceSource& pieces) {
  while (!pieces.next().empty()) {
  }
}

/// The chunks' data, as views of the body's pieces.
class ChunkedPieces final : public PieceSource {
 public:
  explicit ChunkedPieces(std::unique_ptr<PieceSource> body) : body_(std::move(body)), is_chunked_(take_size()) {}

  /// Whether the body begins with a chunk size.
  bool is_chunked() const { return is_chunked_; }

  std::string_view next() override {
    while (size_ == 0) {
      if (!in_chunks_) return {};
      skip_line();  // the line end after a chunk
      take_size();
    }
    if (!has_bytes()) return {};
    const std::string_view data = piece_.substr(0, std::min<std::uint64_t>(size_, piece_.size()));
    piece_.remove_prefix(data.size());
    size_ -= data.size();
    return data;
  }

 private:
  bool has_bytes() {
    if (piece_.empty()) piece_ = body_->next();
    return !piece_.empty();
  }

  /// The next byte, 0 or more; -1 at the body's end.
  int take_byte() {
    if (!has_bytes()) return -1;
    const char c = piece_.front();
    piece_.remove_prefix(1);
    return static_cast<unsigned char>(c);
  }

  void skip_line() {
    for (int c = take_byte(); c != -1 && c != '\n';) c = take_byte();
  }

  /// Reads a line "size;extensions"; false if it has no valid size. Size 0 ends the chunks.
  bool take_size() {
    const bool is_size = read_size_line();
    if (!is_size) size_ = 0;
    in_chunks_ = size_ > 0;
    return is_size;
  }

  bool read_size_line() {
    size_ = 0;
    bool has_digit = false, ended = false;
    for (;;) {
      const int next = take_byte();
      const char c = static_cast<char>(next);
      if (next == -1 || c == '\n') return has_digit;
      if (c == ';') {
        skip_line();
        return has_digit;
      }
      if (is_ascii_space(c)) {
        ended = has_digit;
        continue;
      }
      const int digit = hex_value(c);
      if (digit < 0 || ended || size_ > std::numeric_limits<std::uint64_t>::max() >> 4) return false;
      size_ = size_ << 4 | static_cast<unsigned>(digit);
      has_digit = true;
    }
  }

  std::unique_ptr<PieceSource> body_;
  std::string_view piece_;  ///< rest of the body's current piece
  std::uint64_t size_ = 0;  ///< rest of the current chunk
  bool in_chunks_ = false;  ///< more chunks may follow
  bool is_chunked_;
};

enum class Compression { gzip, deflate };

/// Decompresses data. An error ends the output and sets `problem` unless it is set already.
class InflatedPieces final : public PieceSource {
 public:
  InflatedPieces(const OpenPieces& open, Compression compression, std::uint64_t max_bytes, std::string& problem)
      : open_(open), compression_(compression), max_bytes_(max_bytes), problem_(problem), source_(open_()) {
    if (inflateInit2(&stream_, compression == Compression::gzip ? MAX_WBITS + 16 : MAX_WBITS) != Z_OK)
      throw std::bad_alloc();
    buffer_.resize(buffer_bytes);
  }
  ~InflatedPieces() override { inflateEnd(&stream_); }
  InflatedPieces(const InflatedPieces&) = delete;
  InflatedPieces& operator=(const InflatedPieces&) = delete;

  bool is_damaged() const { return is_damaged_; }

  std::string_view next() override {
    while (!done_)
      if (const std::size_t size = inflate_some()) return {reinterpret_cast<const char*>(buffer_.data()), size};
    return {};
  }

 private:
  /// Fills the buffer; may return 0 before the end.
  std::size_t inflate_some() {
    if (stream_.avail_in == 0) take_input();
    stream_.next_out = buffer_.data();
    stream_.avail_out = buffer_bytes;
    const int status = inflate(&stream_, Z_NO_FLUSH);
    const std::size_t size = buffer_bytes - stream_.avail_out;
    size_ += size;
    if (size_ > max_bytes_) {
      end("its content exceeds " + size_text(max_bytes_) + " after decompression; raise " +
          option_name<"max-document">);
      return 0;
    }
    if (status == Z_OK) return size;
    if (status == Z_BUF_ERROR) {  // truncated if zlib needs input and none is left
      if (source_is_read_) end("");
    } else if (status == Z_STREAM_END) {
      end("");
    } else if (size_ == 0 && compression_ == Compression::deflate && !is_bare_) {
      begin_bare();
    } else {
      is_damaged_ = true;
      end(compression_ == Compression::gzip ? "its gzip content is damaged" : "its deflate content is damaged");
    }
    return size;
  }

  void take_input() {
    // zlib counts input with 32 bits.
    if (piece_.empty() && !source_is_read_) {
      piece_ = source_->next();
      source_is_read_ = piece_.empty();
    }
    const std::string_view input = piece_.substr(0, std::numeric_limits<uInt>::max());
    piece_.remove_prefix(input.size());
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(input.data()));
    stream_.avail_in = static_cast<uInt>(input.size());
  }

  /// "deflate" means the zlib format, but some servers send raw deflate data.
  void begin_bare() {
    is_bare_ = true;
    inflateReset2(&stream_, -MAX_WBITS);
    source_ = open_();
    source_is_read_ = false;
    piece_ = {};
    stream_.avail_in = 0;
  }

  /// Reads the source to its end: its errors take precedence.
  void end(const std::string& problem) {
    done_ = true;
    read_to_end(*source_);
    if (problem_.empty()) problem_ = problem;
  }

  static constexpr std::size_t buffer_bytes = 64 << 10;

  OpenPieces open_;
  Compression compression_;
  std::uint64_t max_bytes_;
  std::string& problem_;
  std::unique_ptr<PieceSource> source_;
  std::string_view piece_;  ///< rest of the source's current piece, after zlib's input
  bool source_is_read_ = false;
  z_stream stream_{};
  bool is_bare_ = false;
  bool is_damaged_ = false;
  bool done_ = false;
  std::uint64_t size_ = 0;  ///< decompressed so far
  Bytes buffer_;
};

/// The first bytes of a text; fewer if it has fewer.
std::string first_bytes(const OpenPieces& open, std::size_t size) {
  std::string bytes;
  const std::unique_ptr<PieceSource> pieces = open();
  while (bytes.size() < size) {
    const std::string_view piece = pieces->next();
    if (piece.empty()) break;
    bytes += piece.substr(0, size - bytes.size());
  }
  return bytes;
}

/// Crawlers that store a decoded page often keep the header; then the body isn't compressed.
bool is_stored_decoded(const OpenPieces& body, Compression compression, std::uint64_t max_bytes) {
  if (compression == Compression::gzip) return first_bytes(body, 2) != "\x1f\x8b";
  if (trim(first_bytes(body, 64)).substr(0, 1) != "<") return false;
  // Nearly certain: deflate data may begin with any bytes.
  std::string ignored;
  InflatedPieces pieces(body, compression, max_bytes, ignored);
  read_to_end(pieces);
  return pieces.is_damaged();
}

bool is_header(std::string_view line) {
  std::string_view name, value;
  return split_header(line, name, value) && std::all_of(name.begin(), name.end(), [](char c) {
           return is_ascii_letter(c) || is_ascii_digit(c) || c == '-';
         });
}

/// Moves the continuation lines of a header (RFC 9112, 5.2) from `rest` to its value, which stays a view and contains
/// their line ends.
void take_folded_lines(std::string_view& rest, std::string_view& value) {
  while (!rest.empty() && (rest.front() == ' ' || rest.front() == '\t')) {
    std::string_view behind = rest;
    const std::string_view line = trim(take_line(behind));
    if (is_header(line)) return;
    rest = behind;
    const char* const begin = value.empty() ? line.data() : value.data();
    if (!line.empty()) value = {begin, static_cast<std::size_t>(line.data() + line.size() - begin)};
  }
}

void read_header_lines(std::string_view& rest, HttpResponse& response) {
  while (!rest.empty()) {
    const std::string_view line = take_line(rest);
    if (line.empty()) return;
    std::string_view name, value;
    if (!split_header(line, name, value)) continue;
    take_folded_lines(rest, value);
    if (equals_ignoring_case(name, "content-type")) response.content_type = value;
    if (equals_ignoring_case(name, "transfer-encoding")) response.transfer_encoding = value;
    if (equals_ignoring_case(name, "content-encoding")) response.content_encoding = value;
  }
}

/// The status of "HTTP/1.1 200 OK"; 0 if the line isn't a status line.
int status_of(std::string_view line) {
  if (!starts_with_ignoring_case(line, "http/")) return 0;
  const std::size_t space = line.find(' ');
  if (space == std::string_view::npos) return 0;
  line.remove_prefix(space + 1);
  int status = 0;
  std::from_chars(line.data(), line.data() + std::min<std::size_t>(3, line.size()), status);
  return status;
}

}  // namespace

OpenPieces without_chunks(OpenPieces body) {
  if (!ChunkedPieces(body()).is_chunked()) return body;
  return [body = std::move(body)] { return std::make_unique<ChunkedPieces>(body()); };
}

DecodedBody::DecodedBody(OpenPieces body, std::string_view encoding, std::uint64_t max_bytes) {
  constexpr int max_encodings = 4;
  for (int i = 0; i < max_encodings && !encoding.empty(); ++i) {
    // The encoding named last was applied last.
    const std::size_t comma = encoding.rfind(',');
    std::string one = ascii_lowered(trim(encoding.substr(comma + 1)));  // npos + 1 is 0
    encoding = encoding.substr(0, comma == encoding.npos ? 0 : comma);
    if (one == "x-gzip") one = "gzip";
    if (one.empty() || one == "identity" || one == "none") continue;
    if (one != "gzip" && one != "deflate") {
      problem_ = "its content encoding '" + one + "' is not supported";
      body = [] { return std::make_unique<ViewPieces>(""); };
      break;
    }
    const Compression compression = one == "gzip" ? Compression::gzip : Compression::deflate;
    if (is_stored_decoded(body, compression, max_bytes)) continue;
    body = [this, inner = std::move(body), compression, max_bytes] {
      return std::make_unique<InflatedPieces>(inner, compression, max_bytes, problem_);
    };
  }
  pieces_ = body();
}

const std::string& DecodedBody::problem() {
  read_to_end(*pieces_);
  return problem_;
}

std::string_view take_line(std::string_view& rest) {
  std::string_view line = take_until(rest, '\n');
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

bool split_header(std::string_view line, std::string_view& name, std::string_view& value) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return false;
  name = trim(line.substr(0, colon));
  value = trim(line.substr(colon + 1));
  return !name.empty();
}

HttpResponse parse_http_response(std::string_view block) {
  HttpResponse response;
  std::string_view rest = block;
  const std::string_view first = take_line(rest);
  response.status = status_of(first);
  if (response.status == 0) {
    if (!is_header(first) && !starts_with_ignoring_case(first, "http/")) {
      response.body = block;
      return response;
    }
    rest = block;
  }
  read_header_lines(rest, response);
  response.body = rest;
  return response;
}

HttpResponse parse_http_headers(std::string_view lines) {
  HttpResponse response;
  read_header_lines(lines, response);
  return response;
}

}  // namespace quern
