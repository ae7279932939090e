#include "quern/collection/chunk_builder.hpp"

#include "quern/text/utf8.hpp"

namespace quern {
namespace {

/// Titles are stored for display. Longer ones are indexed whole, but stored cut.
constexpr std::size_t max_title_bytes = 1000;

/// The title on one line, white space and phrase ends run together to single spaces.
std::string_view one_line(std::string_view text, std::string& buffer) {
  buffer.clear();
  for (const char c : text) {
    const bool space = c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v' || c == phrase_end;
    if (!space) {
      buffer.push_back(c);
    } else if (!buffer.empty() && buffer.back() != ' ') {
      buffer.push_back(' ');
    }
  }
  if (!buffer.empty() && buffer.back() == ' ') buffer.pop_back();
  return cut_at_character(buffer, max_title_bytes);
}

}  // namespace

void ParsedChunk::clear() {
  packed.row = {};
  packed.frames.clear();
  packed.lengths.clear();
  terms.clear();
  df.clear();
  cf.clear();
  docno_hashes.clear();
  bad.clear();
  records = skipped = empty = links = without_url = repaired_utf8 = cut_terms = input_hash = bytes = compressed_bytes =
      0;
}

void ChunkBuilder::add_stream(PieceSource& text, bool counted, ParsedChunk& chunk) {
  const std::uint32_t document = static_cast<std::uint32_t>(chunk.packed.lengths.size()) + 1;
  analyzer_.analyze(
      text,
      [&](std::string_view token) {
        const std::uint32_t term = chunk.terms.add(token);
        if (term == chunk.df.size()) {
          chunk.df.push_back(0);
          chunk.cf.push_back(0);
          last_document_.push_back(0);
        }
        if (counted) {
          ++tokens_;
          ++chunk.cf[term];
          chunk.df[term] += last_document_[term] != document;
          last_document_[term] = document;
        }
        encoder_.add_token(term);
      },
      [&] { encoder_.add_phrase_end(); });
  encoder_.end_stream();
}

void ChunkBuilder::add_document(ParsedChunk& chunk) {
  tokens_ = 0;
  add_stream(*document_.title.pieces(), true, chunk);
  add_stream(*document_.body.pieces(), true, chunk);
  ViewPieces url(document_.url);
  add_stream(url, false, chunk);
  std::string buffer;
  encoder_.end_document({document_.docno, document_.url, one_line(document_.title.str(), buffer), tokens_},
                        document_.links.all());

  chunk.links += document_.links.count();
  chunk.packed.lengths.push_back(tokens_);
  chunk.docno_hashes.push_back(xxh3_128(as_bytes(document_.docno)));
  chunk.empty += tokens_ == 0;
  chunk.without_url += document_.url.empty();
}

void ChunkBuilder::build(const RecordBatch& batch, ParsedChunk& chunk) {
  chunk.clear();
  encoder_.clear();
  last_document_.clear();
  const std::uint64_t repaired_before = scratch_.repaired_utf8, cut_before = analyzer_.cut_terms();

  Bytes hashes;
  for (const RecordSpan& record : batch.records) {
    const RecordText text = batch.text(record);
    std::string_view bytes = text.head();
    std::string whole;
    if (!text.is_whole()) {
      whole.clear();
      const auto pieces = text.pieces();
      for (std::string_view piece = pieces->next(); !piece.empty(); piece = pieces->next()) whole += piece;
      bytes = whole;
    }
    put_le(hashes, xxh3(as_bytes(bytes)));
    chunk.bytes += bytes.size();
    document_.clear();
    const ParsedRecord parsed = record.format->parse(bytes, scratch_, document_);
    if (parsed.kind == RecordKind::document) add_document(chunk);
    if (parsed.kind == RecordKind::skipped) ++chunk.skipped;
    if (parsed.kind == RecordKind::bad) chunk.bad.push_back({record.file, record.file_offset, parsed.reason});
  }
  for (const BadRecord& bad : batch.bad) chunk.bad.push_back({bad.file, bad.file_offset, bad.reason});

  chunk.records = batch.records.size() + batch.bad.size();
  chunk.repaired_utf8 = scratch_.repaired_utf8 - repaired_before;
  chunk.cut_terms = analyzer_.cut_terms() - cut_before;
  chunk.compressed_bytes = batch.compressed_bytes;
  chunk.input_hash = xxh3(hashes);

  chunk.packed.row.documents = static_cast<std::uint32_t>(chunk.packed.lengths.size());
  chunk.packed.row.terms = chunk.terms.size();
  encoder_.pack(zstd_, chunk.packed);
}

}  // namespace quern
