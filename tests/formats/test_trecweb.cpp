#include <string>

#include "quern/formats/corpus/corpus_format.hpp"

#include "../corpus/record_cutting.hpp"
#include "catch.hpp"

using namespace quern;
using namespace quern::testing;

namespace {

const CorpusFormat& trecweb = trecweb_format;

std::string with_header(std::string_view header, std::string_view page) {
  return "<DOC>\n<DOCNO>W-1</DOCNO>\n<DOCHDR>" + std::string(header) + "</DOCHDR>\n" + std::string(page) + "\n</DOC>";
}

}  // namespace

TEST_CASE("The worked example of trecweb.md gives what the page says", "[format]") {
  const std::string file =
      "<DOC>\n"
      "<DOCNO>MILL-W-7</DOCNO>\n"
      "<DOCHDR>\n"
      "http://mill.example/stone.html\n"
      "HTTP/1.1 200 OK\n"
      "Content-Type: text/html; charset=iso-8859-1\n"
      "</DOCHDR>\n"
      "<html><head><title>The caf\xE9</title></head>\n"
      "<body><p>Two stones.</p><a href=\"flour.html\">Flour</a></body></html>\n"
      "</DOC>\n";
  CHECK(trecweb.detect(file));
  const std::vector<std::string> records = record_texts(trecweb, file);
  REQUIRE(records.size() == 1);
  const PlainDocument text = parsed_document(trecweb, records[0]);
  CHECK(text.docno == "MILL-W-7");
  CHECK(text.url == "http://mill.example/stone.html");
  CHECK(text.title == "The caf\u00e9");
  CHECK(text.body.find("Two stones.") != std::string::npos);
  REQUIRE(text.links.size() == 1);
  CHECK(text.links[0].url == "http://mill.example/flour.html");
  CHECK(text.links[0].anchor == "Flour");
}

TEST_CASE("TRECWEB is distinguished from TRECTEXT by DOCHDR", "[format]") {
  CHECK(trecweb.detect("<DOC>\n<DOCNO>1</DOCNO>\n<dochdr>\n"));
  CHECK_FALSE(trecweb.detect("<DOC>\n<DOCNO>1</DOCNO>\n<TEXT>\n"));
  CHECK_FALSE(trecweb.detect("<html><DOCHDR>"));
  CHECK(trectext_format.detect("<DOC>\n<DOCNO>1</DOCNO>\n<TEXT>\n"));
}

TEST_CASE("The URL is the first word of the first line that is not empty, if it is a URL", "[format]") {
  CHECK(
      parsed_document(trecweb, with_header("\n\n http://a.example/b 1.2.3.4 19970215 text/html 11\nHTTP/1.0 200", "x"))
          .url == "http://a.example/b");
  CHECK(parsed_document(trecweb, with_header("www.a.example/b\r\nHTTP/1.0 200", "x")).url == "www.a.example/b");
  CHECK(parsed_document(trecweb, with_header("DOCHDR will NOT be \n included", "x")).url.empty());
  CHECK(parsed_document(trecweb, with_header("", "x")).url.empty());
  const std::string longest = "http://a.example/" + std::string(65535 - 17, 'u');
  CHECK(parsed_document(trecweb, with_header(longest, "x")).url == longest);
  CHECK(parsed_document(trecweb, with_header(longest + "u", "x")).url.empty());
}

TEST_CASE("The charset is the header's, else the page's", "[format]") {
  const std::string latin = "http://a.example/\nContent-Type: text/html; charset=ISO-8859-1\n";
  CHECK(parsed_document(trecweb, with_header(latin, "<title>\xE9</title>")).title == "\u00e9");
  CHECK(parsed_document(trecweb, with_header("http://a.example/\n", "<meta charset=iso-8859-1><title>\xE9</title>"))
            .title == "\u00e9");
  CHECK(parsed_document(trecweb, with_header("http://a.example/\n", "<title>\xE9</title>")).title == "\uFFFD");
  CHECK(parsed_document(trecweb, with_header("http://a.example/\nContent-Type: text/html; charset=nonsense",
                                             "<title>\u00e9</title>"))
            .title == "\u00e9");
}

TEST_CASE("Parts of a TRECWEB record may be missing", "[format]") {
  SECTION("DOCNO's start: the record is bad") {
    const Parsed parsed =
        parse_record(trecweb, "<DOC>\nW </DOCNO>\n<DOCHDR>h</DOCHDR><html><DOCNO>page</DOCNO></html></DOC>");
    CHECK(parsed.result.kind == RecordKind::bad);
    CHECK(parsed.result.reason.find("DOCNO") != std::string::npos);
  }
  SECTION("DOCNO's content: the record is bad") {
    CHECK(parse_record(trecweb, "<DOC><DOCNO> </DOCNO><DOCHDR>h</DOCHDR>x</DOC>").result.kind == RecordKind::bad);
  }
  SECTION("DOCNO's end") {
    CHECK(parsed_document(trecweb, "<DOC>\n<DOCNO>W-1\n<DOCHDR>http://a.example/\n</DOCHDR><title>t</title></DOC>")
              .docno == "W-1");
    const PlainDocument text = parsed_document(trecweb, "<DOC><DOCNO>  W-1\n<p>body</DOC>");
    CHECK(text.docno == "W-1");
    CHECK(text.body == "body");
  }
  SECTION("DOCHDR") {
    const PlainDocument text = parsed_document(trecweb, "<DOC><DOCNO>W-1</DOCNO>\n<title>t</title> body</DOC>");
    CHECK(text.title == "t");
    CHECK(text.url.empty());
  }
  SECTION("DOCHDR's end") {
    const PlainDocument text = parsed_document(
        trecweb, "<DOC><DOCNO>W-1</DOCNO>\n<DOCHDR>\nhttp://a.example/\nX: y\n<html><title>t</title> body</DOC>");
    CHECK(text.url == "http://a.example/");
    CHECK(text.title == "t");
    CHECK(text.body.find("X:") == std::string::npos);
  }
  SECTION("the page") {
    CHECK(parsed_document(trecweb, "<DOC><DOCNO>W-1</DOCNO><DOCHDR>\n</DOCHDR></DOC>").body.empty());
  }
}

TEST_CASE("A page may hold DOC tags of its own in the middle of its lines", "[format]") {
  const std::string first = with_header("http://a.example/", "<script>x = '</DOC>' + '<DOC>';</script>after");
  const std::string second = with_header("http://b.example/", "b");
  CHECK(record_texts(trecweb, first + "\n<!-- comment -->\n" + second) == std::vector<std::string>{first, second});
  CHECK(parsed_document(trecweb, first).body.find("after") != std::string::npos);
}
