#include "quern/core/error.hpp"
#include "quern/core/random.hpp"
#include "quern/formats/corpus/http_body.hpp"

#include "catch.hpp"
#include "compressing.hpp"
#include "small_pieces.hpp"

using namespace quern;
using namespace quern::testing;

namespace {

/// "<title>Mill</title><p>water wheel water wheel", compressed by the brotli tool.
const std::string brotli_page(
    "\x1f\x2c\x00\x40\x8c\xc4\x38\x86\xf2\xab\xa1\x44\xc9\xd6\x04\x57\x3e\x69\x30\x91\x03\x87\x16\x50\x28\x27\x3c\x4c"
    "\xe4\xe6"
    "\x71\x90\x5f\xae\x5d\x39\x0a\xb4\x84\x01\xb9\x00",
    42);
const std::string plain_page = "<title>Mill</title><p>water wheel water wheel";

struct Decoded {
  std::string body;
  std::string problem;
  /// Output before an error doesn't count.
  bool operator==(const Decoded& other) const {
    return problem == other.problem && (!problem.empty() || body == other.body);
  }
};

OpenPieces in_pieces(std::string_view text, std::size_t piece_bytes) {
  return [=] { return std::make_unique<SmallPieces>(text, piece_bytes); };
}

Decoded decoded(std::string_view body, std::string_view encoding, std::uint64_t max_bytes = 1 << 20,
                std::size_t piece_bytes = 1 << 20) {
  DecodedBody decoded(in_pieces(body, piece_bytes), encoding, max_bytes);
  Decoded result;
  result.body = rest_of(decoded.pieces());
  result.problem = decoded.problem();
  return result;
}

std::string unchunked(std::string_view body, std::size_t piece_bytes = 1 << 20) {
  return rest_of(*without_chunks(in_pieces(body, piece_bytes))());
}

}  // namespace

TEST_CASE("Transfer chunks are joined", "[http]") {
  CHECK(unchunked("4\r\nWiki\r\n6\r\npedia \r\nE\r\nin \r\n\r\nchunks.\r\n0\r\n\r\n") ==
        "Wikipedia in \r\n\r\nchunks.");
  CHECK(unchunked("0004;name=value\nWiki\n0\n\n") == "Wiki");
  CHECK(unchunked("4\r\nWiki\r\n00000000\r\n\r\n") == "Wiki");
  CHECK(unchunked("4\r\nWiki\r\n\r\n0\r\n\r\n\r\n") == "Wiki");
  SECTION("a truncated body is used as far as it goes") {
    CHECK(unchunked("ff\r\nonly this") == "only this");
    CHECK(unchunked("4\r\nWiki\r\n") == "Wiki");
    CHECK(unchunked("ffffffffffffffff\r\nx") == "x");
  }
  SECTION("a body that was stored without chunks stays as it is") {
    CHECK(unchunked("<html>\n") == "<html>\n");
    CHECK(unchunked("fffffffffffffffff\nx") == "fffffffffffffffff\nx");
  }
}

TEST_CASE("Content encodings are decoded", "[http]") {
  const std::string text = "a page, a page, a page";
  CHECK(decoded(gzipped(text), "gzip").body == text);
  CHECK(decoded(gzipped(text), " X-GZIP ").body == text);
  CHECK(decoded(deflated(text, MAX_WBITS), "deflate").body == text);
  CHECK(decoded(deflated(text, -MAX_WBITS), "deflate").body == text);
  CHECK(decoded(gzipped(deflated(text, MAX_WBITS)), "deflate, gzip").body == text);
  CHECK(decoded(zstd_packed(text), "zstd").body == text);
  CHECK(decoded(zstd_packed("a ") + zstd_packed("page") + "\r\n", "ZSTD").body == "a page");
  CHECK(decoded(brotli_page, "br").body == plain_page);
  CHECK(decoded(gzipped(brotli_page), "br,gzip").body == plain_page);
  CHECK(decoded("2a\r\n" + brotli_page + "\r\n0\r\n\r\n", "br,chunked").body == plain_page);
  CHECK(decoded(text, "identity").body == text);
  CHECK(decoded(text, "").body == text);
}

TEST_CASE("A body that is not encoded, despite its header, is unchanged", "[http]") {
  CHECK(decoded("<html>", "gzip").body == "<html>");
  CHECK(decoded("<html>", "gzip").problem.empty());
  CHECK(decoded("<html>text", "deflate").body == "<html>text");
  for (const std::string& body :
       {std::string("<html>text"), std::string("plain"), std::string("x"), std::string("M\xfchle"),
        std::string("\x1b$B?e<V\x1b(B"), std::string("\xff\xfe<\0p\0>\0", 8), plain_page})
    for (const std::string encoding :
         {"br", "zstd", "deflate", "gzip", "gzip, deflate, br", "utf-8", "ISO-8859-1", "8bit", "text/html",
          "text/html; charset=utf-8", "x-compress", "*", "br, utf-8"}) {
      INFO(body << " as " << encoding);
      CHECK(decoded(body, encoding).body == body);
      CHECK(decoded(body, encoding).problem.empty());
    }
}

TEST_CASE("Compression is undone that headers don't name, or name wrongly", "[http][reports]") {
  const std::string text = "a page, a page, a page";
  for (const std::string encoding :
       {"", "identity", "none", "br", "zstd", "deflate", "utf-8", "compress", "x-gzip;q=1", "gzip, br", "chunked"}) {
    INFO(encoding);
    CHECK(decoded(gzipped(text), encoding) == Decoded{text, ""});
    CHECK(decoded(zstd_packed(text), encoding) == Decoded{text, ""});
  }
  CHECK(decoded(gzipped(gzipped(text)), "gzip,gzip") == Decoded{text, ""});
  for (const std::string encoding : {"gzip", "zstd"})
    CHECK(decoded(brotli_page, encoding).problem ==
          "its content is neither text nor in its content encoding '" + encoding + "'");
  // br may begin as gzip does.
  const std::string page("\x1f\x8b\x00\xf8\x25\x5c\x7a\x10\x43\x44\x09\x4c\x2f\xa0\x02\x3a\x2b\x41\xd2\x2d\x71\xae\x06",
                         23);
  CHECK(decoded(page, "br").body.substr(0, 24) == "water wheel water wheel ");
  CHECK(decoded(page, "").problem == "its gzip content is damaged");
}

TEST_CASE("Binary data in an unknown encoding is an error that names it", "[http]") {
  for (const std::string encoding : {"compress", "utf-8", "dcz"})
    CHECK(decoded("\x1f\x9d\x90 and so on", encoding).problem ==
          "its content encoding '" + encoding + "' is not supported");
}

TEST_CASE("Unknown, damaged or too large encodings are errors, truncated ones are not", "[http]") {
  std::string damaged = gzipped(std::string(1000, 'a') + "b");
  damaged[12] = '\xff';
  CHECK_FALSE(decoded(damaged, "gzip").problem.empty());
  const std::string bomb = gzipped(std::string(3000000, 'a'));
  CHECK(decoded(bomb, "gzip", 1000000).problem.find(option_name<"max-document">) != std::string::npos);
  CHECK(decoded(bomb, "gzip", 3000000).body.size() == 3000000);
  const Decoded cut = decoded(bomb.substr(0, bomb.size() / 2), "gzip", 3000000);
  CHECK(cut.problem.empty());
  CHECK(cut.body.size() > 1000);
  CHECK(decoded(zstd_packed(std::string(3000000, 'a')), "zstd", 1000000).problem.find(option_name<"max-document">) !=
        std::string::npos);
  CHECK(decoded(brotli_page, "br", 40).problem.find(option_name<"max-document">) != std::string::npos);
  CHECK(decoded(brotli_page.substr(0, 30), "br").problem.empty());
  std::string damaged_zstd = zstd_packed(std::string(100, 'a'));
  damaged_zstd[6] = '\xff';
  CHECK(decoded(damaged_zstd, "zstd").problem.find("its zstd content is damaged") == 0);
  CHECK(decoded(std::string(40, '\xff') + '\x01', "br").problem == "its br content is damaged");
  // The magic number, no size, a window of 2^24 bytes; then an empty last block.
  CHECK(decoded(std::string("\x28\xb5\x2f\xfd\x00\x70\x01\x00\x00", 9), "zstd").problem.find("more than 8M") !=
        std::string::npos);
}

TEST_CASE("Bodies decode alike in pieces of any size", "[http][property]") {
  const std::string text = "a page, a page\r\n, a page " + std::string(300, 'x');
  const std::string chunked = "4;x\r\nWiki\r\n 6 \r\npedia \r\nE\r\nin \r\n\r\nchunks.\r\n0\r\n\r\n";
  std::string damaged = gzipped(text);
  damaged[damaged.size() / 2] ^= 0x55;
  for (std::size_t piece_bytes = 1; piece_bytes < 40; ++piece_bytes) {
    CHECK(unchunked(chunked, piece_bytes) == unchunked(chunked));
    CHECK(unchunked("4x\nWiki", piece_bytes) == "4x\nWiki");
    for (const std::string& body :
         {gzipped(deflated(text, MAX_WBITS)), deflated(text, -MAX_WBITS), deflated(text, MAX_WBITS), gzipped(text),
          damaged, damaged.substr(0, 40), std::string("  <html>text"), text, brotli_page, gzipped(brotli_page),
          zstd_packed(text), zstd_packed("a") + zstd_packed("b")}) {
      for (const std::string encoding :
           {"deflate, gzip", "gzip", "deflate", "gzip, deflate", "br, gzip", "br", "zstd", "zstd, chunked"}) {
        for (const std::uint64_t max_bytes : {std::uint64_t{100}, std::uint64_t{1000}}) {
          CHECK(decoded(body, encoding, max_bytes, piece_bytes) == decoded(body, encoding, max_bytes));
        }
      }
    }
  }
}

TEST_CASE("Damage in an inner encoding is found even after the end of the outer one", "[http]") {
  const std::string inner = deflated("a page", MAX_WBITS) + std::string(5000, 'y');
  CHECK(decoded(gzipped(inner), "deflate, gzip").body == "a page");
  CHECK(decoded(gzipped(inner), "deflate, gzip").problem.empty());
  std::string damaged = gzipped(inner);
  damaged[damaged.size() - 5] ^= 1;  // in the checksum
  CHECK(decoded(damaged, "deflate, gzip").problem == "its gzip content is damaged");
  CHECK(decoded(gzipped(inner), "deflate, gzip", 4000).problem.find(option_name<"max-document">) != std::string::npos);
}
