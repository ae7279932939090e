#include <string>

#include "quern/core/error.hpp"
#include "quern/core/random.hpp"
#include "quern/formats/corpus/corpus_format.hpp"

#include "../corpus/compressing.hpp"
#include "../corpus/damaged_warc.hpp"
#include "../corpus/record_cutting.hpp"
#include "catch.hpp"

using namespace quern;
using namespace quern::testing;

namespace {

const CorpusFormat& warc = warc_format;

/// A record whose length is off by `off_by` bytes.
std::string warc_record(std::string_view header, std::string_view block, long off_by = 0, std::string end = "\r\n") {
  return "WARC/1.0" + end + std::string(header) +
         "Content-Length: " + std::to_string(static_cast<long>(block.size()) + off_by) + end + end +
         std::string(block) + end + end;
}

std::string response(std::string_view http, std::string_view id = "<urn:uuid:1-2-3>") {
  return warc_record(
      "WARC-Type: response\r\nWARC-Record-ID: " + std::string(id) +
          "\r\nWARC-Target-URI: http://a.example/\r\nContent-Type: application/http; msgtype=response\r\n",
      http);
}

/// A record of a WET file of Common Crawl.
std::string conversion(std::string_view text, std::string_view type = "text/plain") {
  return warc_record(
      "WARC-Type: conversion\r\nWARC-Target-URI: https://mill.example/page\r\nWARC-Date: 2024-05-18T01:58:10Z\r\n"
      "WARC-Record-ID: <urn:uuid:8b1fc1f6-0d5e-4f3c-a6ea-44ffea0b9b23>\r\n"
      "WARC-Refers-To: <urn:uuid:11e12c6c-6d9c-4b6d-8c4c-4a4f2a8de0c8>\r\n"
      "WARC-Block-Digest: sha1:CX3QNNZ7RUY5U4TDZ3QDCQX3JL3VAPGK\r\nWARC-Identified-Content-Language: deu,eng\r\n"
      "Content-Type: " +
          std::string(type) + "\r\n",
      text);
}

RecordKind kind_of(std::string_view record) { return parse_record(warc, record).result.kind; }

std::vector<std::string> without_gaps(const std::vector<Piece>& pieces) {
  std::vector<std::string> texts;
  for (const Piece& piece : pieces) texts.push_back(piece.text.substr(0, piece.text.find_last_not_of("\r\n") + 1));
  return texts;
}

}  // namespace

TEST_CASE("The worked example of warc.md gives what the page says", "[format]") {
  const std::string file =
      "WARC/1.0\r\n"
      "WARC-Type: warcinfo\r\n"
      "WARC-Record-ID: <urn:uuid:0a>\r\n"
      "Content-Length: 14\r\n"
      "\r\n"
      "software: mill\r\n"
      "\r\n"
      "WARC/1.0\r\n"
      "WARC-Type: response\r\n"
      "WARC-Record-ID: <urn:uuid:0b>\r\n"
      "WARC-Target-URI: http://mill.example/\r\n"
      "Content-Type: application/http; msgtype=response\r\n"
      "Content-Length: 107\r\n"
      "\r\n"
      "HTTP/1.1 200 OK\r\n"
      "Content-Type: text/html\r\n"
      "Transfer-Encoding: chunked\r\n"
      "\r\n"
      "b\r\n<title>Flou\r\n"
      "9\r\nr</title>\r\n"
      "0\r\n\r\n"
      "\r\n\r\n";
  CHECK(warc.detect(file));
  const std::vector<std::string> records = record_texts(warc, file);
  REQUIRE(records.size() == 2);
  CHECK(kind_of(records[0]) == RecordKind::skipped);
  const Parsed parsed = parse_record(warc, records[1]);
  REQUIRE(parsed.result.kind == RecordKind::document);
  CHECK(parsed.document.docno == "0b");
  CHECK(parsed.document.url == "http://mill.example/");
  CHECK(parsed.document.title == "Flour");
  CHECK(records[1].substr(records[1].size() - 5) == "0\r\n\r\n");
}

TEST_CASE("WARC is recognised by its version line", "[format]") {
  CHECK(warc.detect("WARC/0.18\nWARC-Type: warcinfo\n"));
  CHECK(warc.detect("\r\nWARC/1.1\r\n"));
  CHECK_FALSE(warc.detect("WARC/one\r\n"));
  CHECK_FALSE(warc.detect("WARC is a format"));
  CHECK_FALSE(warc.detect(""));
}

TEST_CASE("The docno is WARC-TREC-ID, else the record's id", "[format]") {
  const std::string page = "HTTP/1.1 200 OK\r\n\r\n<title>t</title>";
  CHECK(parse_record(warc, response(page)).document.docno == "1-2-3");
  CHECK(parse_record(warc, response(page, "<id:x>")).document.docno == "id:x");
  CHECK(parse_record(warc, response(page, "<urn:uuid:1>\r\nWARC-TREC-ID: clueweb09-1")).document.docno ==
        "clueweb09-1");
  CHECK(kind_of(response(page, "")) == RecordKind::bad);
}

TEST_CASE("Only successful responses with text are documents", "[format]") {
  const auto http = [](std::string_view head) { return response("HTTP/1.1 " + std::string(head) + "\r\n\r\nx"); };
  CHECK(kind_of(http("200 OK\r\nContent-Type: text/html; charset=x")) == RecordKind::document);
  CHECK(kind_of(http("206 Part\r\nContent-Type: application/xhtml+xml")) == RecordKind::document);
  CHECK(kind_of(http("200 OK\r\nContent-Type: TEXT/PLAIN")) == RecordKind::document);
  CHECK(kind_of(http("200 OK")) == RecordKind::document);
  CHECK(kind_of(response("Content-Type: text/html\r\n\r\nx")) == RecordKind::document);
  CHECK(kind_of(http("200 OK\r\nContent-Type: image/png")) == RecordKind::skipped);
  CHECK(kind_of(http("404 Not Found\r\nContent-Type: text/html")) == RecordKind::skipped);
  CHECK(kind_of(http("301 Moved")) == RecordKind::skipped);
  CHECK(kind_of(warc_record("WARC-Type: response\r\nContent-Type: text/dns\r\n", "x")) == RecordKind::skipped);
  CHECK(kind_of(warc_record("X: y\r\n", "x")) == RecordKind::bad);
}

TEST_CASE("Resources that are pages are documents", "[format][reports]") {
  const auto resource = [](std::string_view type, std::string_view block, std::string_view uri = "http://a.example/") {
    return record_texts(warc, warc_record("WARC-Type: resource\r\nWARC-Record-ID: <urn:uuid:b1>\r\nWARC-Target-URI: " +
                                              std::string(uri) + "\r\nContent-Type: " + std::string(type) + "\r\n",
                                          block))[0];
  };
  const Parsed page =
      parse_record(warc, resource("text/html; charset=iso-8859-1", "<title>M\xfchle</title><p>water wheel number 1"));
  REQUIRE(page.result.kind == RecordKind::document);
  CHECK(page.document.docno == "b1");
  CHECK(page.document.url == "http://a.example/");
  CHECK(page.document.title == "M\xc3\xbchle");
  CHECK(page.document.body == "water wheel number 1");
  CHECK(parse_record(warc, resource("text/plain", "1 < 2")).document.body == "1 < 2");
  CHECK(kind_of(resource("application/xhtml+xml", "x")) == RecordKind::document);
  CHECK(kind_of(resource("image/png", "x")) == RecordKind::skipped);
  CHECK(kind_of(resource("", "x")) == RecordKind::skipped);
  // Logs of crawlers
  CHECK(kind_of(resource("text/plain", "x", "metadata://gnu.org/software/wget/warc/wget.log")) == RecordKind::skipped);
  CHECK(kind_of(resource("text/plain", "x", "urn:X-wpull:log")) == RecordKind::skipped);
  const RecordLabels labels = warc.labels(resource("text/html", "x"));
  CHECK(labels.may_be_document);
}

TEST_CASE("Encoded bodies are decoded within the limit", "[format]") {
  const std::string page = "<title>packed</title>" + std::string(100000, ' ');
  const std::string record = response("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + gzipped(page));
  CHECK(parse_record(warc, record).document.title == "packed");
  const Parsed limited = parse_record(warc, record, 100000);
  CHECK(limited.result.kind == RecordKind::bad);
  CHECK(limited.result.reason.find(option_name<"max-document">) != std::string::npos);
  CHECK(parse_record(warc, response("HTTP/1.1 200 OK\r\nContent-Encoding: br\r\n\r\nx")).document.body == "x");
  CHECK(parse_record(warc, response("HTTP/1.1 200 OK\r\nContent-Encoding: utf-8\r\n\r\n<p>x")).document.body == "x");
  CHECK(parse_record(warc, response("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n" +
                                    gzipped("<title>packed</title>")))
            .document.title == "packed");
  CHECK(kind_of(response("HTTP/1.1 200 OK\r\nContent-Encoding: compress\r\n\r\n\x1f\x9d")) == RecordKind::bad);
}

TEST_CASE("Bodies are read whatever their headers say of them", "[format][reports]") {
  const auto body = [](const std::string& http) { return parse_record(warc, response(http)).document.body; };
  const std::string chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  CHECK(body(chunked + "4\r\nmill\r\n00000000\r\n\r\n") == "mill");
  CHECK(body(chunked + "4  \r\nmill\r\n0\r\n\r\n") == "mill");
  CHECK(body(chunked + "4\r\nmill\r\n0\r\n") == "mill");
  CHECK(body(chunked + "<p>mill") == "mill");
  CHECK(body("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n<p>mill") == "mill");
  CHECK(body("HTTP/1.1 200 OK\r\nContent-Encoding: deflate\r\n\r\n<p>mill") == "mill");
  const std::string packed = gzipped("<p>mill");
  CHECK(body("HTTP/1.1 200 OK\r\nContent-Encoding: identity\r\n\r\n" + packed) == "mill");
  CHECK(body("HTTP/1.1 200 OK\r\nContent-Encoding: br\r\n\r\n" + packed) == "mill");
  CHECK(body("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Encoding: gzip\r\n\r\n" + gzipped(packed)) ==
        "mill");
  CHECK(body("HTTP/1.1 200 OK\r\n\r\n" + packed) == "mill");
  CHECK(body("HTTP/1.1 200 Est\xe1 bien\r\nSet-Cookie: \xb3\xd2=1\r\n\r\n<p>mill") == "mill");
}

TEST_CASE("Plain text pages are kept unchanged, and empty lines end phrases", "[format]") {
  const std::string record = response("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n1 < 2 <b>\n\nsecond");
  const std::vector<std::string> records = record_texts(warc, record);
  REQUIRE(records.size() == 1);
  CHECK(parse_record(warc, records[0]).document.body == "1 < 2 <b>|second");
}

TEST_CASE("Conversions to text are documents: the first line is the title, each other one a phrase", "[format]") {
  const auto parsed = [](std::string_view text) { return parse_record(warc, record_texts(warc, conversion(text))[0]); };
  const Parsed page = parsed("M\xc3\xbchle am Bach\nHome\n  About us \r\n\n\nA <b>mill</b> &amp; more.\n");
  REQUIRE(page.result.kind == RecordKind::document);
  CHECK(page.document.docno == "8b1fc1f6-0d5e-4f3c-a6ea-44ffea0b9b23");
  CHECK(page.document.url == "https://mill.example/page");
  CHECK(page.document.title == "M\xc3\xbchle am Bach");
  CHECK(page.document.body == "Home|About us \r|A <b>mill</b> &amp; more.|");
  CHECK(parsed("\n \n Title \nx").document.title == "Title");
  CHECK(parsed("only a line\n\n").document.title.empty());
  CHECK(parsed("only a line\n\n").document.body == "only a line");
  const std::string line(1000, 'x');
  CHECK(parsed(line + "\ny").document.title == line);
  CHECK(parsed(line + "x\ny").document.title.empty());
  CHECK(parsed(line + "x\ny").document.body == line + "x|y");
  CHECK(parsed("").result.kind == RecordKind::document);
  CHECK(parsed("a\xff\nb").document.title == "a\xef\xbf\xbd");
  CHECK(kind_of(conversion("x", "application/json")) == RecordKind::skipped);
}

TEST_CASE("Conversions are parsed the same in pieces of any size", "[format][property]") {
  RandomBits random(7);
  for (int i = 0; i < 200; ++i) {
    std::string text;
    for (std::uint64_t parts = random.below(12); parts > 0; --parts) {
      const char* const some[] = {"\n", "\n", "\r\n", " ", "word", "\xc3\xbc", "\xe2"};
      text += random.below(20) == 0 ? std::string(990 + random.below(20), 'x') : some[random.below(7)];
    }
    const std::string record = conversion(text);
    for (const std::size_t piece_bytes : {1, 3, 1000})
      CHECK(same_record(parse_record(warc, record), parse_in_pieces(warc, record, piece_bytes)));
  }
}

TEST_CASE("Headers may be in any case, with or without brackets, and version 1.1 is read like 1.0", "[format]") {
  const std::string page =
      "HTTP/1.1 200 OK\r\ncontent-type: text/html;\r\n charset=iso-8859-1\r\n\r\n<title>M\xfchle</title>";
  const std::string record =
      "WARC/1.1\r\nwarc-type: RESPONSE\r\nwarc-record-id: <urn:uuid:1>\r\n"
      "warc-target-uri: <http://a.example/>\r\ncontent-length: " +
      std::to_string(page.size()) + "\r\n\r\n" + page;
  const std::vector<std::string> records = record_texts(warc, record + "\r\n\r\n" + record);
  REQUIRE(records.size() == 2);
  for (const std::string& one : records) {
    const Parsed parsed = parse_record(warc, one);
    REQUIRE(parsed.result.kind == RecordKind::document);
    CHECK(parsed.document.docno == "1");
    CHECK(parsed.document.url == "http://a.example/");
    CHECK(parsed.document.title == "M\xc3\xbchle");
  }
}

TEST_CASE("Whatever a response's headers hold, it is a document, skipped or bad", "[format]") {
  const auto kind = [](const std::string& http) { return kind_of(response(http)); };
  CHECK(kind("") == RecordKind::document);  // without text
  CHECK(kind("HTTP/1.1\r\n\r\nx") == RecordKind::document);
  CHECK(kind("HTTP/1.1 OK\r\nContent-Type\r\n: x\r\n\r\nx") == RecordKind::document);
  CHECK(kind("HTTP/1.1 200 OK\r\nContent-Length: -1\r\nContent-Length: 99999999999999999999\r\n\r\nx") ==
        RecordKind::document);
  CHECK(kind("HTTP/1.1 200 OK\r\nX: " + std::string(5 << 20, 'x') + "\r\n\r\ny") == RecordKind::document);
  CHECK(kind("HTTP/1.1 200 OK\r\nContent-Encoding: br\r\n\r\n\x0b\x02\x80") == RecordKind::document);
  CHECK(kind("HTTP/1.1 200 OK\r\nContent-Encoding: zstd\r\n\r\n(\xb5/\xfd") == RecordKind::bad);
  CHECK(kind("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nx") == RecordKind::document);
  for (const char* type : {"request", "metadata", "revisit", "warcinfo", "continuation", "unheard-of"})
    CHECK(kind_of(warc_record("WARC-Type: " + std::string(type) + "\r\nContent-Type: text/html\r\n", "x")) ==
          RecordKind::skipped);
  const Parsed cut =
      parse_record(warc, warc_record("WARC-Type: response\r\nWARC-Record-ID: <a>\r\nWARC-Truncated: length\r\n",
                                     "HTTP/1.1 200 OK\r\n\r\n<title>cut</title><p>its last wor"));
  CHECK(cut.result.kind == RecordKind::document);
  CHECK(cut.document.title == "cut");
}

TEST_CASE("A header of megabytes makes a record bad, and the next one is read", "[format]") {
  std::string header = "WARC-Type: response\r\nWARC-Record-ID: <a>\r\n";
  while (header.size() < (3 << 20)) header += "X-Filler: " + std::string(1000, 'x') + "\r\n";
  const std::string large = warc_record(header, "HTTP/1.1 200 OK\r\n\r\nx");
  const std::vector<Piece> pieces = cut_records(warc, large + response("HTTP/1.1 200 OK\r\n\r\ny"), 100000, {8 << 20});
  REQUIRE(pieces.size() == 2);
  CHECK(parse_in_pieces(warc, pieces[0].text, 1 << 18).result.reason.find("its headers have more than") == 0);
  CHECK(parse_record(warc, pieces[1].text).result.kind == RecordKind::document);
}

TEST_CASE("Lengths lead from record to record, even past version lines in a page", "[format]") {
  for (const std::string end : {"\r\n", "\n"}) {
    const std::string first = warc_record("A: 1" + end, "quotes\nWARC/1.0\nin a page", 0, end);
    const std::string second = warc_record("A: 2" + end, "", 0, end);
    const std::vector<Piece> pieces = cut_records(warc, first + second + second, 1000);
    REQUIRE(pieces.size() == 3);
    CHECK(pieces[0].text + end + end == first);
    CHECK(pieces[1].offset == first.size());
    CHECK(pieces[2].offset == first.size() + second.size());
  }
}

TEST_CASE("A length that leads to no record is ignored", "[format]") {
  const std::string block = "a block of forty bytes, or about so many";
  for (const long off_by : {-40L, -7L, 9L, 200L, 1000000L, 1L << 50}) {
    const std::string bad = warc_record("A: 1\r\n", block, off_by);
    const std::string good = warc_record("A: 2\r\n", "x");
    INFO("off by " << off_by);
    const std::vector<std::string> records = without_gaps(cut_records(warc, good + bad + good + good, 1000));
    REQUIRE(records.size() == 4);
    CHECK(records[1].substr(records[1].size() - block.size()) == block);
  }
}

TEST_CASE("Records without a length or with a broken header do not affect the next", "[format]") {
  const std::string good = warc_record("A: 2\r\n", "x");
  const std::string no_length = "WARC/1.0\r\nA: 1\r\n\r\nblock\r\n\r\n";
  const std::string no_end = "WARC/1.0\r\nA: 1\r\n";
  const std::string cut = "WARC/1.0\r\nContent-Length: 100\r\n\r\nonly this";
  CHECK(record_texts(warc, no_length + good).size() == 2);
  CHECK(record_texts(warc, no_end + good) == std::vector<std::string>{no_end, good.substr(0, good.size() - 4)});
  CHECK(record_texts(warc, good + cut) == std::vector<std::string>{good.substr(0, good.size() - 4), cut});
}

TEST_CASE("Records need no blank line between them", "[format][reports]") {
  const std::string record = "WARC/1.0\r\nA: 1\r\nContent-Length: 5\r\n\r\nblock";
  CHECK(record_texts(warc, record + record + "\r\n" + record) == std::vector<std::string>{record, record, record});
}

TEST_CASE("Bytes before a version line are reported once and skipped", "[format]") {
  const std::string good = warc_record("A: 2\r\n", "x");
  const std::vector<Piece> pieces = cut_records(warc, "\njunk\nmore junk\n" + good + good, 1000);
  REQUIRE(pieces.size() == 3);
  CHECK(pieces[0].reason.find("no WARC record") == 0);
  CHECK(pieces[0].offset == 1);
  CHECK(pieces[1].offset == 16);
  for (std::size_t step = 1; step < 20; ++step) {
    CHECK(cut_records(warc, "junk\nmore\n" + good + good, step).size() == 3);
  }
}

TEST_CASE("WARC is cut into the same records however its bytes arrive", "[format][property]") {
  std::string file;
  for (int i = 0; i < 30; ++i) {
    const std::string block =
        "HTTP/1.1 200 OK\r\n\r\n\nWARC/1.0\nx" + std::string(static_cast<std::size_t>(i * 17 % 140), '\n');
    file += warc_record("A: 1\r\n", block, i % 3 == 0 ? i - 15 : 0, i % 2 ? "\n" : "\r\n");
    if (i % 7 == 0) file += "junk\nWARC/x\n";
  }
  for (const std::uint64_t max_record_bytes : {std::uint64_t{100}, std::uint64_t{1} << 20}) {
    const std::vector<Piece> whole = cut_records(warc, file, file.size(), {max_record_bytes});
    CHECK(whole.size() >= 30);
    for (std::size_t step = 1; step < 100; ++step) {
      INFO("step " << step << ", at most " << max_record_bytes);
      CHECK(cut_records(warc, file, step, {max_record_bytes}) == whole);
    }
  }
}

TEST_CASE("Damaged WARC files are cut the same where only a few bytes of a record are in memory",
          "[format][property]") {
  RandomBits random(314);
  for (int i = 0; i < 300; ++i) {
    const std::string file = testing::damaged_warc(random, 12);
    const std::uint64_t max_record_bytes = random.below(3) == 0 ? 60 + random.below(300) : 1 << 20;
    const std::vector<Piece> whole = cut_records(warc, file, file.size() + 1, {max_record_bytes});
    for (const std::size_t max_in_memory : {std::size_t{0}, std::size_t{16}, 16 + random.below(200)}) {
      const std::size_t step = 1 + random.below(random.below(2) == 0 ? 8 : 300);
      INFO("file " << i << ", step " << step << ", at most " << max_record_bytes << ", in memory " << max_in_memory);
      CHECK(cut_records(warc, file, step, {max_record_bytes, max_in_memory}) == whole);
    }
  }
}
