#include "quern/formats/corpus/http_message.hpp"

#include "catch.hpp"
#include "compressing.hpp"

using namespace quern;
using quern::testing::deflated;
using quern::testing::gzipped;

namespace {

struct Decoded {
  std::string body;
  std::string problem;
};

Decoded decoded(std::string_view body, std::string_view encoding, std::uint64_t max_bytes = 1 << 20) {
  std::string out, problem;
  const std::string_view result = remove_content_encoding(body, encoding, max_bytes, out, problem);
  return {std::string(result), problem};
}

std::string unchunked(std::string_view body) {
  std::string out;
  return std::string(remove_chunks(body, out));
}

}  // namespace

TEST_CASE("A response gives its status, headers and body, whatever its line ends", "[corpus]") {
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

TEST_CASE("Transfer chunks are joined", "[corpus]") {
  CHECK(unchunked("4\r\nWiki\r\n6\r\npedia \r\nE\r\nin \r\n\r\nchunks.\r\n0\r\n\r\n") ==
        "Wikipedia in \r\n\r\nchunks.");
  CHECK(unchunked("0004;name=value\nWiki\n0\n\n") == "Wiki");
  SECTION("of a cut body, what is there") {
    CHECK(unchunked("ff\r\nonly this") == "only this");
    CHECK(unchunked("4\r\nWiki\r\n") == "Wiki");
    CHECK(unchunked("ffffffffffffffff\r\nx") == "x");
  }
  SECTION("a body that was stored without chunks stays as it is") {
    CHECK(unchunked("<html>\n") == "<html>\n");
    CHECK(unchunked("fffffffffffffffff\nx") == "fffffffffffffffff\nx");
  }
}

TEST_CASE("Content encodings are decoded", "[corpus]") {
  const std::string text = "a page, a page, a page";
  CHECK(decoded(gzipped(text), "gzip").body == text);
  CHECK(decoded(gzipped(text), " X-GZIP ").body == text);
  CHECK(decoded(deflated(text, MAX_WBITS), "deflate").body == text);
  CHECK(decoded(deflated(text, -MAX_WBITS), "deflate").body == text);
  CHECK(decoded(gzipped(deflated(text, MAX_WBITS)), "deflate, gzip").body == text);
  CHECK(decoded(text, "identity").body == text);
  CHECK(decoded(text, "").body == text);
}

TEST_CASE("A body that is not encoded after all stays as it is", "[corpus]") {
  CHECK(decoded("<html>", "gzip").body == "<html>");
  CHECK(decoded("<html>", "gzip").problem.empty());
  CHECK(decoded("<html>text", "deflate").body == "<html>text");
}

TEST_CASE("Encodings that are unknown, damaged or too large are problems, cut ones are not", "[corpus]") {
  CHECK(decoded("x", "br").problem.find("'br'") != std::string::npos);
  std::string damaged = gzipped(std::string(1000, 'a') + "b");
  damaged[12] = '\xff';
  CHECK_FALSE(decoded(damaged, "gzip").problem.empty());
  const std::string bomb = gzipped(std::string(3000000, 'a'));
  CHECK(decoded(bomb, "gzip", 1000000).problem.find("--max-document") != std::string::npos);
  CHECK(decoded(bomb, "gzip", 3000000).body.size() == 3000000);
  const Decoded cut = decoded(bomb.substr(0, bomb.size() / 2), "gzip", 3000000);
  CHECK(cut.problem.empty());
  CHECK(cut.body.size() > 1000);
}
