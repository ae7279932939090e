#include "quern/formats/corpus/http_body.hpp"

#include "catch.hpp"

using namespace quern;

TEST_CASE("A response has its status, headers and body, for any line ends", "[corpus]") {
  for (const std::string end : {"\r\n", "\n"}) {
    const std::string block = "HTTP/1.1 404 Not Found" + end + "CONTENT-TYPE:  text/html; charset=x " + end +
                              "no header" + end + "Content-Encoding: gzip" + end + end + "body" + end + end + "more";
    const HttpResponse response = parse_http_response(block);
    CHECK(response.status == 404);
    CHECK(response.content_type == "text/html; charset=x");
    CHECK(response.content_encoding == "gzip");
    CHECK(response.body == "body" + end + end + "more");
  }
}

TEST_CASE("A block without a status line is headers, or all body", "[corpus]") {
  const HttpResponse headers = parse_http_response("Content-Type: text/plain\n\nbody");
  CHECK(headers.status == 0);
  CHECK(headers.content_type == "text/plain");
  CHECK(headers.body == "body");
  CHECK(parse_http_response("<html>a: b</html>\n\nmore").body == "<html>a: b</html>\n\nmore");
  CHECK(parse_http_response("").body.empty());
  CHECK(parse_http_response("HTTP/1.0 200").status == 200);
}

TEST_CASE("A header continues over folded lines, unless they look like headers", "[corpus]") {
  const HttpResponse response = parse_http_response(
      "HTTP/1.1 200 OK\r\nContent-Type: text/html;\r\n\tcharset=koi8-r\r\nX-Other: a\r\n  b\r\n"
      " Content-Encoding:\r\n  gzip\r\n\r\n folded: no\r\n");
  CHECK(response.content_type == "text/html;\r\n\tcharset=koi8-r");
  CHECK(response.content_encoding == "gzip");
  CHECK(response.body == " folded: no\r\n");
  CHECK(parse_http_response("Content-Type: text/html\n ").content_type == "text/html");
  CHECK(parse_http_response("Content-Type:\n \n\nx").content_type.empty());
}

TEST_CASE("Several headers with codings are one list", "[corpus][reports]") {
  const HttpResponse response = parse_http_response(
      "HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nTransfer-Encoding: gzip\r\ncontent-encoding: gzip, x\r\n"
      "Transfer-Encoding: chunked\r\n\r\n");
  CHECK(response.content_encoding == "br,gzip, x");
  CHECK(response.transfer_encoding == "gzip,chunked");
}
