#include <string>

#include "quern/formats/corpus/corpus_format.hpp"

#include "../corpus/record_cutting.hpp"
#include "catch.hpp"

using namespace quern;
using namespace quern::testing;

namespace {

const CorpusFormat& tsv = tsv_format;

}  // namespace

TEST_CASE("The worked example of tsv.md gives what the page says", "[format]") {
  const std::string file =
      "7\tTwo stones, one on the other.\nD1\thttps://mill.example/wheel\tThe wheel\tWater turns it.\n";
  const std::vector<std::string> records = record_texts(tsv, file);
  REQUIRE(records.size() == 2);
  const PlainDocument first = parsed_document(tsv, records[0]);
  CHECK(first.docno == "7");
  CHECK(first.body == "Two stones, one on the other.");
  CHECK(first.title.empty());
  CHECK(first.url.empty());
  const PlainDocument second = parsed_document(tsv, records[1]);
  CHECK(second.docno == "D1");
  CHECK(second.url == "https://mill.example/wheel");
  CHECK(second.title == "The wheel");
  CHECK(second.body == "Water turns it.");
}

TEST_CASE("Lines with any line ends are records, except empty ones", "[format]") {
  const std::string file =
      "\xEF\xBB\xBF"
      "1\ta\r\n\r\n\n2\tb\n3\tc";
  for (const std::size_t step : {1, 2, 3, 100}) {
    const std::vector<Piece> pieces = cut_records(tsv, file, step);
    REQUIRE(pieces.size() == 3);
    const PlainDocument first = parsed_document(tsv, pieces[0].text);
    CHECK(first.docno == "1");
    CHECK(first.body.find('a') == 0);
    CHECK(pieces[1].text == "2\tb");
    CHECK(pieces[2].text == "3\tc");
  }
  CHECK(record_texts(tsv, "\n\r\n").empty());
  CHECK(record_texts(tsv, "").empty());
}

TEST_CASE("A URL counts only if a tab follows it", "[format]") {
  CHECK(parsed_document(tsv, "1\thttp://a.example/").body == "http://a.example/");
  CHECK(parsed_document(tsv, "1\thttp://a.example/ says\tmore").url.empty());
  CHECK(parsed_document(tsv, "1\tword\thttp://a.example/\tmore").url.empty());
  const PlainDocument without_title = parsed_document(tsv, "1\tHTTP://a.example/\ttext");
  CHECK(without_title.url == "HTTP://a.example/");
  CHECK(without_title.title.empty());
  CHECK(without_title.body == "text");
  const PlainDocument with_tabs = parsed_document(tsv, "1\thttp://a.example/\t\tone\ttwo");
  CHECK(with_tabs.title.empty());
  CHECK(with_tabs.body == "one\ttwo");
}

TEST_CASE("A line without docno or tab is bad, one without text is not", "[format]") {
  CHECK(why_bad(tsv, "word") == "it has no tab after its docno");
  CHECK(why_bad(tsv, " \ttext") == "its docno is empty");
  CHECK(why_bad(tsv, "a\x01\ttext") == "its docno contains a control character");
  CHECK(why_bad(tsv, std::string(65536, 'a') + "\ttext").find("its docno has 65536 bytes") == 0);
  CHECK(parsed_document(tsv, "1\t").body.empty());
}

TEST_CASE("A long line gives the same document in pieces and as a whole", "[format][pieces]") {
  const std::string words(300'000, 'w');
  for (const std::string& record : {"1\t" + words + "\t\xFF", "1\thttp://a.example/\t" + words + "\t" + words,
                                    "1\thttp://a.example/\t" + words, words, words + "\ttext"}) {
    for (const std::size_t piece_bytes : {1000, 1 << 18})
      CHECK(same_record(parse_record(tsv, record), parse_in_pieces(tsv, record, piece_bytes)));
  }
}

TEST_CASE("TSV is never detected", "[format]") { CHECK_FALSE(tsv.detect("1\ttext\n2\ttext\n")); }
