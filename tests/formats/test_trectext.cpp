#include <string>

#include "quern/formats/corpus/corpus_format.hpp"

#include "../corpus/record_cutting.hpp"
#include "catch.hpp"

using namespace quern;
using namespace quern::testing;

namespace {

const CorpusFormat& trectext = trectext_format;

}  // namespace

TEST_CASE("The worked example of trectext.md gives what the page says", "[format]") {
  const std::string file =
      "<DOC>\n"
      "<DOCNO> MILL-0001 </DOCNO>\n"
      "<DATE>1 May</DATE>\n"
      "<HEADLINE>Flour &amp; stone</HEADLINE>\n"
      "<TEXT>\n"
      "<P>Two stones turn.</P>\n"
      "One <B>lies</B> still.\n"
      "</TEXT>\n"
      "</DOC>\n";
  const std::vector<std::string> records = record_texts(trectext, file);
  REQUIRE(records.size() == 1);
  const PlainDocument text = parsed_document(trectext, records[0]);
  CHECK(text.docno == "MILL-0001");
  CHECK(text.url.empty());
  CHECK(text.title == "Flour & stone");
  CHECK(text.body == "\n|Two stones turn.|\nOne lies still.\n");
}

TEST_CASE("TRECTEXT is recognized by its first record", "[format]") {
  CHECK(trectext.detect("<DOC>\n<DOCNO>1</DOCNO>"));
  CHECK(trectext.detect("\xEF\xBB\xBF \n<?xml version=\"1.0\"?>\n<!-- news --><ROOT>\n<doc id=\"1\">"));
  CHECK_FALSE(trectext.detect("notes <DOC>"));
  CHECK_FALSE(trectext.detect("<html><DOC>"));
  CHECK_FALSE(trectext.detect("<document>"));
  CHECK_FALSE(trectext.detect(""));
}

TEST_CASE("Tags of TRECTEXT may be in any case", "[format]") {
  const PlainDocument text = parsed_document(trectext, "<doc><DocNo>a</dOCNO><tItLe>t</TITLE><text>b</Text></doc>");
  CHECK(text.docno == "a");
  CHECK(text.title == "t");
  CHECK(text.body == "b");
}

TEST_CASE("Several sections of a kind are phrases of one stream", "[format]") {
  const PlainDocument text =
      parsed_document(trectext,
                      "<DOC><DOCNO>1</DOCNO><HEAD>h1</HEAD><TITLE>t</TITLE><HL>h2</HL><LEADPARA>l</LEADPARA><X>no</X>"
                      "<TEXT>a</TEXT><FILEID>no</FILEID><TEXT>b</TEXT></DOC>");
  CHECK(text.title == "h1|t|h2");
  CHECK(text.body == "l|a|b");
}

TEST_CASE("A section without its end tag ends where the next begins, or with the record", "[format]") {
  const PlainDocument text = parsed_document(trectext, "<DOC><DOCNO>1<TITLE>t\n<TEXT>a<TEXT>b</DOC>");
  CHECK(text.docno == "1");
  CHECK(text.title == "t\n");
  CHECK(text.body == "a|b");
}

TEST_CASE("Comments are not text, tags inside sections separate tokens, and a '<' that begins no tag is kept",
          "[format]") {
  const PlainDocument text = parsed_document(
      trectext,
      "<DOC><DOCNO>1</DOCNO><TEXT>a<!-- no <TITLE>no</TITLE> -->b<I>c</I>d<X>y<P>e 1<2 & x < y <unclosed</TEXT></DOC>");
  CHECK(text.title.empty());
  CHECK(text.body == "abcd y|e 1<2 & x < y <unclosed");
}

TEST_CASE("A CDATA section is its content", "[format][reports]") {
  const auto body = [](const std::string& content) {
    return parsed_document(trectext, "<DOC><DOCNO><![CDATA[ 1 ]]></DOCNO>" + content + "</DOC>").body;
  };
  CHECK(body("<TEXT><![CDATA[water <b>mi</b>ll & 1 < 2 &eacute;]]> more</TEXT>") == "water mill & 1 < 2 é more");
  CHECK(body("<![CDATA[direct text]]>") == "direct text");
  CHECK(body("<![CDATA[<TEXT>in a section</TEXT>]]>") == "in a section");
  CHECK(body("<![CDATA[]]><![CDATA[a<![CDATA[b]]>") == "a<![CDATA[b");
  CHECK(body("<![CDATA[open") == "<![CDATA[open");
}

TEST_CASE("Character references are resolved, and other ampersands are kept", "[format]") {
  const PlainDocument text =
      parsed_document(trectext,
                      "<DOC><DOCNO>1</DOCNO><TEXT>caf&eacute; &#65;&#x42;&lt;&apos;&hyph;&CloseCurlyDoubleQuote;&Tab "
                      "9;&#0;&#30;&#xD800; &nosuch; &; "
                      "&amp</TEXT></DOC>");
  CHECK(text.body == "caf\u00e9 AB<'-\u201d&Tab 9;  \uFFFD &nosuch; &; &amp");
}

TEST_CASE("The id of DOC is the docno if DOCNO is missing", "[format]") {
  CHECK(parsed_document(trectext, "<DOC id=\"doc2\"><TEXT>a</TEXT></DOC>").docno == "doc2");
  CHECK(parsed_document(trectext, "<DOC lang='en' ID = doc2 ><TEXT>a</TEXT></DOC>").docno == "doc2");
  CHECK(parsed_document(trectext, "<DOC id=\"doc2\"><DOCNO>d</DOCNO></DOC>").docno == "d");
  CHECK(why_bad(trectext, "<DOC><TEXT>a</TEXT></DOC>").find("DOCNO") != std::string::npos);
  CHECK(why_bad(trectext, "<DOC idx=\"doc2\"><TEXT>a</TEXT></DOC>").find("DOCNO") != std::string::npos);
}

TEST_CASE("A docno is complete at any length up to 65,535 bytes", "[format]") {
  const std::string longest(65535, 'n');
  CHECK(parsed_document(trectext, "<DOC><DOCNO>" + longest + "</DOCNO></DOC>").docno == longest);
  CHECK(why_bad(trectext, "<DOC><DOCNO>n" + longest + "</DOCNO></DOC>").find("65536") != std::string::npos);
}

TEST_CASE("A record without a known section is indexed whole, less its docno", "[format][reports]") {
  const auto body = [](const std::string& record) { return parsed_document(trectext, record).body; };
  // Vaswani as Terrier ships it.
  CHECK(body("<DOC><DOCNO>1</DOCNO>\nwater wheels with large buckets\nturn slowly\n</DOC>") ==
        "\nwater wheels with large buckets\nturn slowly\n");
  const Parsed unknown =
      parse_record(trectext, "<DOC><DOCNO>1</DOCNO><T>Flour</T> &amp; <P>stone<A><B>x</B></A><T>y</T></DOC>");
  CHECK(unknown.document.body == " Flour  & |stone  x   y ");
  CHECK(unknown.result.remark ==
        "it has no text in its elements text, leadpara, lp, body, content, contents, abstract; its elements 'T', "
        "'A', 'B' are indexed instead");
  // Terrier's Shakespeare: a title, and text outside of elements.
  const PlainDocument play = parsed_document(
      trectext, "<DOC>\n<DOCNO>I</DOCNO>\n<title>ACT I</title>\n<speaker>ANTONIO</speaker> In sooth\n</DOC>");
  CHECK(play.title == "ACT I");
  CHECK(play.body == "\n\n|\n ANTONIO  In sooth\n");
  CHECK(body("<DOC>before<DOCNO>1<X>after</DOC>") == "before after");
  CHECK(body("<DOC><DOCNO>1</DOCNO>outside<TEXT></TEXT>outside</DOC>").empty());
  CHECK(body("<DOC><DOCNO>1</DOCNO><TEXT>a</DOC>b <DOC>c</TEXT></DOC>") == "a b  c");
  CHECK(parse_record(trectext, "<DOC><DOCNO>1</DOCNO><W>w</W><TEXT>t</TEXT></DOC>").result.remark.empty());
}

TEST_CASE("WikiExtractor's documents have docno, URL and title as attributes", "[format][reports]") {
  const PlainDocument text = parsed_document(
      trectext,
      "<doc id=\"12\" revid=\"7\" url=\"https://en.wikipedia.example/wiki?a=1&amp;curid=12\" title=\"Watermill\">\n"
      "Watermill\n\nIt grinds.\n</doc>");
  CHECK(text.docno == "12");
  CHECK(text.url == "https://en.wikipedia.example/wiki?a=1&curid=12");
  CHECK(text.title == "Watermill");
  CHECK(text.body == "\nWatermill\n\nIt grinds.\n");
  for (const std::string title : {"\"Heroes\" (album)", "\"A\" is for \"B\"", "\"\"", "R&B"})
    CHECK(parsed_document(trectext, "<doc id=\"1\" title=\"" + title + "\" url=\"u\">x</doc>").title == title);
  CHECK(parsed_document(trectext, "<doc id=\"1\" checked title='a'>x</doc>").docno == "1");
}

TEST_CASE("Invalid UTF-8 in TRECTEXT is repaired and counted", "[format]") {
  RecordScratch scratch;
  DocumentText text;
  CHECK(trectext.parse("<DOC><DOCNO>1</DOCNO><TEXT>caf\xE9 au\xFF</TEXT></DOC>", scratch, text).kind ==
        RecordKind::document);
  CHECK(text.body.str() == "caf\uFFFD au\uFFFD");
  CHECK(scratch.repaired_utf8 == 2);
}

TEST_CASE("A record that isn't UTF-8 has the charset that it or its file declares", "[format][reports]") {
  RecordScratch scratch;
  DocumentText text;
  const auto body = [&](const std::string& content) {
    trectext.parse("<DOC><DOCNO>1</DOCNO><TEXT>" + content + "</TEXT></DOC>", scratch, text);
    return text.body.str();
  };
  CHECK(body("<meta charset=iso-8859-2>\xE9\xE8") == " é\u010d");
  scratch.file_charset = "windows-1252";
  CHECK(body("M\xFCller") == "Müller");
  CHECK(body("Müller") == "Müller");
  CHECK(body("<meta charset=koi8-r>\xCD\xC9\xD2") == " \u043c\u0438\u0440");
  CHECK(scratch.repaired_utf8 == 0);
}

TEST_CASE("Records end at </DOC>, at the next <DOC> of a line, or with the file", "[format]") {
  const std::string file =
      "<!-- <DOC> in a comment </DOC>\n<DOC>\n -->\n<ROOT><DOC>1</DOC> <doc>2\n</doc>\n<DOC>3 is not closed\n"
      "<DOC>4 has </DOC> inside\n</DOC> \n<DOCNO>\n</DOCNO>\n<DOC>5 is the last";
  CHECK(record_texts(trectext, file) ==
        std::vector<std::string>{"<DOC>1</DOC>", "<doc>2\n</doc>", "<DOC>3 is not closed\n",
                                 "<DOC>4 has </DOC> inside\n</DOC>", "<DOC>5 is the last"});
}

TEST_CASE("Elements around the records may end on the last record's line", "[format][reports]") {
  const std::string record = "<doc>1</doc>", file = "<root>" + record + "</root>\n<root>" + record + " </docs></root>";
  for (std::size_t step = 1; step <= file.size(); ++step) {
    const std::vector<Piece> pieces = cut_records(trectext, file, step);
    REQUIRE(pieces.size() == 2);
    for (const Piece& piece : pieces) CHECK(piece.text == record);
  }
  for (const std::string inside : {"</p>", "</body>", "</", "</1>", "</ x>", " </html>"}) {
    const std::string page = "<doc>1</doc>" + inside + "</doc>";
    CHECK(record_texts(trectext, page) == std::vector<std::string>{page});
  }
}

TEST_CASE("End tags without a start tag and unclosed comments are reported", "[format]") {
  const std::string file = "<DxC>1</DOC>\n<DOC>2</DOC>\n<!-- for ever <DOC>3</DOC>\n";
  const std::vector<Piece> pieces = cut_records(trectext, file, file.size());
  REQUIRE(pieces.size() == 3);
  CHECK(pieces[0].offset == 6);
  CHECK(pieces[0].reason.find("</DOC> without") == 0);
  CHECK(pieces[1].text == "<DOC>2</DOC>");
  CHECK(pieces[2].reason.find("comment") != std::string::npos);
}

TEST_CASE("Text after a record is reported once, with its position; tags, comments and padding are not", "[format]") {
  const std::string record = "<DOC>1</DOC>", line = record + "\n";
  for (const std::string between : {"", "\n", "<!-- text -->", "</ROOT>\n<?xml version='1.0'?> <ROOT a=b>",
                                    "\n<!DOCTYPE x>\n", "\x1A\0", "\xEF\xBB\xBF"}) {
    INFO(between);
    const std::vector<std::string> two = {record, record};
    CHECK(record_texts(trectext, line + between + line + between) == two);
    CHECK(record_texts(trectext, "notes before " + line + between + line + between) == two);
  }
  for (const std::string between :
       {" lost </DOD> text\n", "\n<HEAD>\n lost", "<!-- --> lost <!-- -->", "\n< lost", "<a <b> lost >"}) {
    const std::string file = line + between + line + line;
    for (std::size_t step = 1; step <= file.size(); ++step) {
      INFO(file << ", step " << step);
      const std::vector<Piece> pieces = cut_records(trectext, file, step);
      REQUIRE(pieces.size() == 4);
      CHECK(pieces[1].offset == file.find("lost"));
      CHECK(pieces[1].reason.find("text outside of records") == 0);
      CHECK((pieces[0].text == record && pieces[2].text == record && pieces[3].text == record));
    }
  }
  CHECK(cut_records(trectext, line + " lost", 5).size() == 2);
}

TEST_CASE("TRECTEXT is cut into the same records however its bytes arrive", "[format][property]") {
  std::string file = "<!-- x --><DOC>1</DOC>\n";
  for (int i = 0; i < 30; ++i) {
    file += "<DOC>\n<DOCNO>" + std::to_string(i) + "</DOCNO>" + std::string(static_cast<std::size_t>(i * 13 % 90), '<');
    file += i % 3 == 0 ? "</DOC" : i % 5 == 0 ? "" : "</DOC> x </DOC> ";
    file += i % 4 == 0 ? "<!-- </DOC> -->\n" : i % 7 == 0 ? "</doc>" + std::string(100, ' ') + "<DOC>" : "\n";
  }
  for (const std::uint64_t max_record_bytes : {std::uint64_t{60}, std::uint64_t{1} << 20}) {
    const std::vector<Piece> whole = cut_records(trectext, file, file.size(), {max_record_bytes});
    CHECK(whole.size() > 20);
    for (std::size_t step = 1; step < 100; ++step) {
      INFO("step " << step << ", at most " << max_record_bytes);
      CHECK(cut_records(trectext, file, step, {max_record_bytes}) == whole);
    }
  }
}

TEST_CASE("A million unclosed tags or comments take linear time", "[format]") {
  for (const std::string_view tag : {"<a", "<!--", "<", "&", "<TEXT>", "</DOC> x", "<![CDATA["}) {
    std::string record = "<DOC><DOCNO>1</DOCNO><TEXT>";
    for (int i = 0; i < 1000000; ++i) record += tag;
    CHECK(parsed_document(trectext, record).docno == "1");
    CHECK(cut_records(trectext, record, 1 << 18, {1 << 24}).size() == 1);
  }
}
