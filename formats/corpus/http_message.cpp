#include "quern/formats/corpus/http_message.hpp"

#include <algorithm>
#include <charconv>

#include "quern/core/ascii_text.hpp"

namespace quern {
namespace {

bool is_header(std::string_view line) {
  std::string_view name, value;
  return split_header(line, name, value) && std::all_of(name.begin(), name.end(), [](char c) {
           return is_ascii_letter(c) || is_ascii_digit(c) || c == '-';
         });
}

/// Takes the lines off `rest` on which a header goes on (RFC 9112, 5.2), and appends them to its value, which stays a
/// view: with line ends in it.
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

}  // namespace quern
