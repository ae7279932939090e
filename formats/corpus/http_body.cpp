#include "quern/formats/corpus/http_body.hpp"

#include <brotli/decode.h>
#include <zlib.h>
#include <zstd.h>

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

/// `bare` is deflate data without a zlib header, which some servers send as "deflate".
enum class Compression { none, gzip, deflate, bare, brotli, zstd };

/// Undoes one content coding. Takes its input from the front of `input`.
class Decoder {
 public:
  virtual ~Decoder() = default;
  enum class State { goes_on, ended, damaged };
  /// Decodes to `to`, which isn't empty, and counts the bytes. Given no input, returns what it still holds.
  virtual State decode(std::string_view& input, std::span<std::uint8_t> to, std::size_t& given) = 0;
};

class ZlibDecoder final : public Decoder {
 public:
  explicit ZlibDecoder(int window_bits) {
    if (inflateInit2(&stream_, window_bits) != Z_OK) throw std::bad_alloc();
  }
  ~ZlibDecoder() override { inflateEnd(&stream_); }
  ZlibDecoder(const ZlibDecoder&) = delete;
  ZlibDecoder& operator=(const ZlibDecoder&) = delete;

  State decode(std::string_view& input, std::span<std::uint8_t> to, std::size_t& given) override {
    // zlib counts with 32 bits.
    const std::size_t offered = std::min<std::size_t>(input.size(), std::numeric_limits<uInt>::max());
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(input.data()));
    stream_.avail_in = static_cast<uInt>(offered);
    stream_.next_out = to.data();
    stream_.avail_out = static_cast<uInt>(to.size());
    const int status = inflate(&stream_, Z_NO_FLUSH);
    input.remove_prefix(offered - stream_.avail_in);
    given = to.size() - stream_.avail_out;
    if (status == Z_STREAM_END) return State::ended;
    return status == Z_OK || status == Z_BUF_ERROR ? State::goes_on : State::damaged;
  }

 private:
  z_stream stream_{};
};

class BrotliDecoder final : public Decoder {
 public:
  BrotliDecoder() : state_(BrotliDecoderCreateInstance(nullptr, nullptr, nullptr)) {
    if (!state_) throw std::bad_alloc();
  }
  ~BrotliDecoder() override { BrotliDecoderDestroyInstance(state_); }
  BrotliDecoder(const BrotliDecoder&) = delete;
  BrotliDecoder& operator=(const BrotliDecoder&) = delete;

  State decode(std::string_view& input, std::span<std::uint8_t> to, std::size_t& given) override {
    std::size_t in = input.size(), out = to.size();
    const std::uint8_t* next_in = as_bytes(input).data();
    std::uint8_t* next_out = to.data();
    const BrotliDecoderResult result = BrotliDecoderDecompressStream(state_, &in, &next_in, &out, &next_out, nullptr);
    input.remove_prefix(input.size() - in);
    given = to.size() - out;
    if (result == BROTLI_DECODER_RESULT_SUCCESS) return State::ended;
    return result == BROTLI_DECODER_RESULT_ERROR ? State::damaged : State::goes_on;
  }

 private:
  BrotliDecoderState* state_;
};

/// Any number of frames; other data may follow them.
class ZstdDecoder final : public Decoder {
 public:
  ZstdDecoder() : context_(ZSTD_createDCtx()) {
    if (!context_) throw std::bad_alloc();
    ZSTD_DCtx_setParameter(context_, ZSTD_d_windowLogMax, max_window_log);
  }
  ~ZstdDecoder() override { ZSTD_freeDCtx(context_); }
  ZstdDecoder(const ZstdDecoder&) = delete;
  ZstdDecoder& operator=(const ZstdDecoder&) = delete;

  State decode(std::string_view& input, std::span<std::uint8_t> to, std::size_t& given) override {
    ZSTD_inBuffer in{input.data(), input.size(), 0};
    ZSTD_outBuffer out{to.data(), to.size(), 0};
    const std::size_t status = ZSTD_decompressStream(context_, &out, &in);
    input.remove_prefix(in.pos);
    given = out.pos;
    if (ZSTD_isError(status)) return is_frame_end_ ? State::ended : State::damaged;
    is_frame_end_ = status == 0 || (is_frame_end_ && in.pos == 0);
    return State::goes_on;
  }

 private:
  static constexpr int max_window_log = 23;  ///< RFC 9659

  ZSTD_DCtx* context_;
  bool is_frame_end_ = false;
};

std::unique_ptr<Decoder> make_decoder(Compression compression) {
  if (compression == Compression::brotli) return std::make_unique<BrotliDecoder>();
  if (compression == Compression::zstd) return std::make_unique<ZstdDecoder>();
  const bool is_gzip = compression == Compression::gzip, is_bare = compression == Compression::bare;
  return std::make_unique<ZlibDecoder>(is_gzip ? MAX_WBITS + 16 : is_bare ? -MAX_WBITS : MAX_WBITS);
}

std::string_view damage_of(Compression compression) {
  switch (compression) {
    case Compression::gzip:
      return "its gzip content is damaged";
    case Compression::brotli:
      return "its br content is damaged";
    case Compression::zstd:
      return "its zstd content is damaged, or has a window of more than 8M";
    default:
      return "its deflate content is damaged";
  }
}

/// Decompresses data. An error ends the output and sets `problem` unless it is set already.
class DecodedPieces final : public PieceSource {
 public:
  DecodedPieces(const OpenPieces& open, Compression compression, std::uint64_t max_bytes, std::string& problem)
      : open_(open), max_bytes_(max_bytes), problem_(problem) {
    begin(compression);
    buffer_.resize(buffer_bytes);
  }

  /// Whether the compressed data ended properly.
  bool is_complete() const { return is_complete_; }

  std::string_view next() override {
    while (!done_)
      if (const std::size_t size = decode_some()) return {reinterpret_cast<const char*>(buffer_.data()), size};
    return {};
  }

 private:
  void begin(Compression compression) {
    compression_ = compression;
    decoder_ = make_decoder(compression);
    source_ = open_();
    source_is_read_ = false;
    input_ = {};
  }

  /// Fills the buffer; may return 0 before the end.
  std::size_t decode_some() {
    if (input_.empty() && !source_is_read_) {
      input_ = source_->next();
      source_is_read_ = input_.empty();
    }
    std::size_t size = 0;
    const Decoder::State state = decoder_->decode(input_, buffer_, size);
    size_ += size;
    if (size_ > max_bytes_) {
      end("its content exceeds " + size_text(max_bytes_) + " after decompression; raise " +
          option_name<"max-document">);
      return 0;
    }
    const bool is_truncated = source_is_read_ && size == 0;
    if (state == Decoder::State::ended || (state == Decoder::State::goes_on && is_truncated)) {
      is_complete_ = state == Decoder::State::ended;
      end("");
    } else if (state == Decoder::State::damaged && size_ == 0 && compression_ == Compression::deflate) {
      begin(Compression::bare);
    } else if (state == Decoder::State::damaged) {
      end(damage_of(compression_));
    }
    return size;
  }

  /// Reads the source to its end: its errors take precedence.
  void end(std::string_view problem) {
    done_ = true;
    read_to_end(*source_);
    if (problem_.empty()) problem_ = problem;
  }

  static constexpr std::size_t buffer_bytes = 64 << 10;

  OpenPieces open_;
  std::uint64_t max_bytes_;
  std::string& problem_;
  Compression compression_ = Compression::none;
  std::unique_ptr<Decoder> decoder_;
  std::unique_ptr<PieceSource> source_;
  std::string_view input_;  ///< rest of the source's current piece
  bool source_is_read_ = false;
  bool is_complete_ = false;
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

/// Whether a body begins with 512 bytes of text, or is all text: compressed data soon has a control character. ISO-2022
/// has escapes, and UTF-16 zeros.
bool begins_as_text(const OpenPieces& body) {
  const std::string begin = first_bytes(body, 512);
  const auto is_binary = [](char c) {
    return static_cast<unsigned char>(c) < 0x20 && !is_ascii_space(c) && c != '\x1b';
  };
  return begin.starts_with("\xff\xfe") || begin.starts_with("\xfe\xff") ||
         std::none_of(begin.begin(), begin.end(), is_binary);
}

/// `name` in lower case; none for those that aren't compressed or unknown.
Compression compression_named(std::string_view name) {
  if (name == "gzip" || name == "x-gzip") return Compression::gzip;
  if (name == "deflate") return Compression::deflate;
  if (name == "br") return Compression::brotli;
  if (name == "zstd") return Compression::zstd;
  return Compression::none;
}

/// What a body is compressed with: what its first bytes show, whatever its headers name, or else `named`; none for a
/// text, since crawlers that store a decoded page often keep its headers.
Compression compression_of(const OpenPieces& body, Compression named, std::uint64_t max_bytes) {
  const std::string begin = first_bytes(body, 4);
  const Compression shown = begin.starts_with("\x1f\x8b") ? Compression::gzip
                            : begin == "\x28\xb5\x2f\xfd" ? Compression::zstd
                                                          : Compression::none;
  if (named != Compression::deflate && named != Compression::brotli) return shown;
  if (shown == Compression::none && !begins_as_text(body)) return named;
  // Nearly certain: these codings' data may begin with any bytes.
  std::string ignored;
  DecodedPieces pieces(body, named, max_bytes, ignored);
  read_to_end(pieces);
  return pieces.is_complete() ? named : shown;
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

/// Several headers of a name are one list (RFC 9110, 5.3).
void add_codings(std::string_view value, std::string& list) {
  if (!list.empty()) list += ',';
  list += value;
}

void read_header_lines(std::string_view& rest, HttpResponse& response) {
  while (!rest.empty()) {
    const std::string_view line = take_line(rest);
    if (line.empty()) return;
    std::string_view name, value;
    if (!split_header(line, name, value)) continue;
    take_folded_lines(rest, value);
    if (equals_ignoring_case(name, "content-type")) response.content_type = value;
    if (equals_ignoring_case(name, "transfer-encoding")) add_codings(value, response.transfer_encoding);
    if (equals_ignoring_case(name, "content-encoding")) add_codings(value, response.content_encoding);
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

DecodedBody::DecodedBody(OpenPieces body, std::string_view named_codings, std::uint64_t max_bytes) {
  constexpr int max_encodings = 6;
  // After those that are named, the body may have one more that isn't.
  const std::string codings_and_none = " ," + std::string(named_codings);
  std::string_view codings = codings_and_none;
  for (int i = 0; i < max_encodings && !codings.empty(); ++i) {
    // The coding named last was applied last.
    const std::size_t comma = codings.rfind(',');
    const std::string one = ascii_lowered(trim(codings.substr(comma + 1)));  // npos + 1 is 0
    codings = codings.substr(0, comma == codings.npos ? 0 : comma);
    if (one.empty() && !codings.empty()) continue;
    if (one == "chunked") {
      body = without_chunks(std::move(body));
      continue;
    }
    const Compression named = compression_named(one), compression = compression_of(body, named, max_bytes);
    if (compression == Compression::none) {
      // Servers also name charsets and types here.
      if (one.empty() || one == "identity" || one == "none" || begins_as_text(body)) continue;
      read_to_end(*body());  // errors of the codings that were applied later take precedence
      if (problem_.empty())
        problem_ = named == Compression::none ? "its content encoding '" + one + "' is not supported"
                                              : "its content is neither text nor in its content encoding '" + one + "'";
      body = [] { return std::make_unique<ViewPieces>(""); };
      break;
    }
    body = [this, inner = std::move(body), compression, max_bytes] {
      return std::make_unique<DecodedPieces>(inner, compression, max_bytes, problem_);
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
