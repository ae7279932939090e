#include "quern/formats/corpus/http_message.hpp"

#include <zlib.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <new>
#include <utility>

#include "quern/core/ascii_text.hpp"
#include "quern/core/size_text.hpp"

namespace quern {
namespace {

void read_header_lines(std::string_view& rest, HttpResponse& response) {
  while (!rest.empty()) {
    const std::string_view line = take_line(rest);
    if (line.empty()) return;
    std::string_view name, value;
    if (!split_header(line, name, value)) continue;
    if (equals_ignoring_case(name, "content-type")) response.content_type = value;
    if (equals_ignoring_case(name, "transfer-encoding")) response.transfer_encoding = value;
    if (equals_ignoring_case(name, "content-encoding")) response.content_encoding = value;
  }
}

/// The status of "HTTP/1.1 200 OK"; 0 if the line is none.
int status_of(std::string_view line) {
  if (!starts_with_ignoring_case(line, "http/")) return 0;
  const std::size_t space = line.find(' ');
  if (space == std::string_view::npos) return 0;
  line.remove_prefix(space + 1);
  int status = 0;
  std::from_chars(line.data(), line.data() + std::min<std::size_t>(3, line.size()), status);
  return status;
}

bool is_header(std::string_view line) {
  std::string_view name, value;
  return split_header(line, name, value) && std::all_of(name.begin(), name.end(), [](char c) {
           return is_ascii_letter(c) || is_ascii_digit(c) || c == '-';
         });
}

/// Reads a chunk's size line; false if it is none.
bool take_chunk_size(std::string_view& rest, std::uint64_t& size) {
  std::string_view line = take_line(rest);
  line = trim(line.substr(0, line.find(';')));
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), size, 16);
  return error == std::errc() && end == line.data() + line.size();
}

struct InflateEnd {
  void operator()(z_stream* stream) const { inflateEnd(stream); }
};

enum class Inflated { whole, damaged, too_large };

/// Appends to `out`. `window_bits` as inflateInit2 takes them.
Inflated inflate_text(std::string_view from, int window_bits, std::uint64_t max_bytes, std::string& out) {
  constexpr std::size_t step = 64 << 10;
  z_stream stream{};
  if (inflateInit2(&stream, window_bits) != Z_OK) throw std::bad_alloc();
  const std::unique_ptr<z_stream, InflateEnd> at_exit(&stream);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(from.data()));
  stream.avail_in = static_cast<uInt>(from.size());
  for (;;) {
    const std::size_t before = out.size();
    out.resize(before + step);
    stream.next_out = reinterpret_cast<Bytef*>(out.data()) + before;
    stream.avail_out = step;
    const int status = inflate(&stream, Z_NO_FLUSH);
    out.resize(out.size() - stream.avail_out);
    if (out.size() > max_bytes) return Inflated::too_large;
    if (status == Z_STREAM_END || status == Z_BUF_ERROR) return Inflated::whole;  // or cut
    if (status != Z_OK) return Inflated::damaged;
  }
}

Inflated undo_encoding(std::string_view body, std::string_view encoding, std::uint64_t max_bytes, std::string& out) {
  out.clear();
  if (encoding == "gzip") return inflate_text(body, MAX_WBITS + 16, max_bytes, out);
  // "deflate" is the zlib form, but some servers always sent bare deflate data.
  const Inflated result = inflate_text(body, MAX_WBITS, max_bytes, out);
  if (result != Inflated::damaged || !out.empty()) return result;
  return inflate_text(body, -MAX_WBITS, max_bytes, out);
}

/// Crawlers that store a page decoded often keep the header: then the page stands here as it is.
bool is_stored_decoded(std::string_view body, std::string_view encoding, Inflated result) {
  if (encoding == "gzip") return body.substr(0, 2) != "\x1f\x8b";
  return result == Inflated::damaged && trim(body.substr(0, 64)).substr(0, 1) == "<";
}

}  // namespace

std::string_view take_line(std::string_view& rest) {
  const std::size_t end = rest.find('\n');
  std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
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

std::string_view remove_chunks(std::string_view body, std::string& out) {
  std::string_view rest = body;
  std::uint64_t size = 0;
  if (!take_chunk_size(rest, size)) return body;
  out.clear();
  while (size > 0) {
    const std::string_view data = rest.substr(0, size);
    out += data;
    rest.remove_prefix(data.size());
    take_line(rest);  // the chunk's own line end
    if (!take_chunk_size(rest, size)) break;
  }
  return out;
}

std::string_view remove_content_encoding(std::string_view body, std::string_view encoding, std::uint64_t max_bytes,
                                         std::string& out, std::string& problem) {
  constexpr int max_encodings = 4;
  std::string next;
  for (int i = 0; i < max_encodings && !encoding.empty(); ++i) {
    // The last one named was applied last.
    const std::size_t comma = encoding.rfind(',');
    std::string one(trim(comma == std::string_view::npos ? encoding : encoding.substr(comma + 1)));
    encoding = comma == std::string_view::npos ? std::string_view() : encoding.substr(0, comma);
    std::transform(one.begin(), one.end(), one.begin(), ascii_lower);
    if (one == "x-gzip") one = "gzip";
    if (one.empty() || one == "identity" || one == "none") continue;
    if (one != "gzip" && one != "deflate") {
      problem = "its content encoding '" + one + "' can't be undone";
      return {};
    }
    const Inflated result = undo_encoding(body, one, max_bytes, next);
    if (is_stored_decoded(body, one, result)) continue;
    if (result == Inflated::damaged) problem = "its " + one + " content is damaged";
    if (result == Inflated::too_large) {
      problem = "its content has more than " + size_text(max_bytes) + " once decompressed; see --max-document";
    }
    if (!problem.empty()) return {};
    std::swap(out, next);
    body = out;
  }
  return body;
}

}  // namespace quern
