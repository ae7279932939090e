#include <random>
#include <string>

#include "quern/formats/corpus/corpus_format.hpp"
#include "quern/formats/corpus/document_fields.hpp"

#include "../corpus/temporary_folder.hpp"
#include "../text/pieces.hpp"
#include "../text/plain_document.hpp"
#include "catch.hpp"

/// Spooled records give the same documents as records in memory.
using namespace quern;
using namespace quern::testing;

namespace {

struct Outcome {
  RecordKind kind = RecordKind::document;
  std::string reason;
  PlainDocument document;
  std::uint64_t repaired_utf8 = 0;
  bool operator==(const Outcome&) const = default;
};

Outcome parsed(const CorpusFormat& format, const RecordText& record) {
  RecordScratch scratch;
  DocumentText text;
  const ParsedRecord result = format.parse(record, scratch, text);
  if (result.kind != RecordKind::document) return {result.kind, result.reason, {}, 0};
  return {result.kind, result.reason, PlainDocument(text), scratch.repaired_utf8};
}

Spool spooled(const std::string& record, const TemporaryFolder& folder) {
  Spool spool(folder.path(""));
  spool.append({reinterpret_cast<const std::uint8_t*>(record.data()), record.size()});
  return spool;
}

}  // namespace

TEST_CASE("A TREC record gives the same document in a spool and in memory", "[format][pieces][property]") {
  const TemporaryFolder folder;
  std::mt19937_64 random(5);
  for (const CorpusFormat* format : {&trectext_format, &trecweb_format}) {
    for (int i = 0; i < 300; ++i) {
      std::string record = "<DOC><DOCNO>n</DOCNO>";
      if (i % 2 == 0) record += "<DOCHDR>http://a/b\nContent-Type: text/html; charset=utf-8\n</DOCHDR>";
      // Some span several pieces.
      const std::size_t parts = i % 50 == 0 ? 300'000 : 50;
      record += random_markup(random, parts) + "</DOC>" + std::string(i % 7, '\n');
      const Spool spool = spooled(record, folder);
      if (parsed(*format, record) != parsed(*format, RecordText(spool))) FAIL(format->name << " record " << i);
    }
  }
}

TEST_CASE("A page's end is found after much white space", "[format][pieces]") {
  const TemporaryFolder folder;
  const std::string record =
      "<DOC><DOCNO>n</DOCNO>" + std::string(600'000, ' ') + "a</DOC>" + std::string(300'000, '\n');
  const Spool spool = spooled(record, folder);
  const Outcome outcome = parsed(trecweb_format, RecordText(spool));
  CHECK(outcome.document.body == "a");
  CHECK(outcome == parsed(trecweb_format, record));
}

TEST_CASE("Plain text in pieces has the phrases of the whole text", "[format][pieces][property]") {
  std::mt19937_64 random(6);
  for (int i = 0; i < 3000; ++i) {
    std::string text = random_markup(random);
    for (char& c : text) c = c == '<' ? '\n' : c;
    RecordScratch scratch;
    SpooledText whole, in_pieces;
    append_plain_text(text, scratch, whole);
    const std::uint64_t repaired = std::exchange(scratch.repaired_utf8, 0);
    RandomPieces pieces(text, 1 + i % 20, random());
    append_plain_text(pieces, scratch, in_pieces);
    if (in_pieces.str() != whole.str() || scratch.repaired_utf8 != repaired) FAIL(text);
  }
}

TEST_CASE("A page's charset is found even if its pieces are small", "[format][pieces]") {
  const std::string page = std::string(500, ' ') + "<meta charset=windows-1252><p>caf\xE9";
  for (const std::size_t size : {1, 10, 2000}) {
    RecordScratch scratch;
    DocumentText out;
    RandomPieces pieces(page, size, 7);
    extract_html(pieces, "", scratch, out);
    CHECK(out.body.str() == "caf\xC3\xA9");
  }
}
