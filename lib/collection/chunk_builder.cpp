#include "quern/collection/chunk_builder.hpp"

#include <algorithm>

namespace quern {
namespace {

/// Titles are kept for people to read; what goes past this is indexed, but not shown.
constexpr std::size_t max_title_bytes = 1000;

std::string_view cut_at_character(std::string_view text, std::size_t max_bytes) {
  if (text.size() <= max_bytes) return text;
  std::size_t end = max_bytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end);
}

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

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
  ascii = true;
  records = skipped = empty = links = without_url = repaired_utf8 = cut_terms = input_hash = bytes = compressed_bytes =
      0;
}

std::uint32_t ChunkBuilder::add_stream(std::string_view text, bool counted, ParsedChunk& chunk) {
  const std::size_t before = forward_.size();
  const std::uint32_t document = static_cast<std::uint32_t>(chunk.packed.lengths.size()) + 1;
  analyzer_.analyze(
      text,
      [&](std::string_view token) {
        const std::uint32_t term = chunk.terms.add(token);
        if (term == chunk.df.size()) {
          chunk.df.push_back(0);
          chunk.cf.push_back(0);
          last_document_.push_back(0);
          chunk.ascii = chunk.ascii && is_ascii(token);
        }
        if (counted) {
          ++tokens_;
          ++chunk.cf[term];
          chunk.df[term] += last_document_[term] != document;
          last_document_[term] = document;
        }
        put_varint(forward_, term + 1);
      },
      [&] { forward_.push_back(TokenCursor::phrase_end_token); });
  return static_cast<std::uint32_t>(forward_.size() - before);
}

void ChunkBuilder::add_links(ParsedChunk& chunk) {
  put_varint(links_, document_.links.size());
  for (const Link& link : document_.links) {
    put_string(links_, link.url);
    put_string(links_, link.anchor);
  }
  chunk.links += document_.links.size();
}

void ChunkBuilder::add_document(ParsedChunk& chunk) {
  tokens_ = 0;
  const std::uint32_t title_bytes = add_stream(document_.title, true, chunk);
  const std::uint32_t body_bytes = add_stream(document_.body, true, chunk);
  const std::uint32_t url_bytes = add_stream(document_.url, false, chunk);
  for (const std::uint32_t size : {title_bytes, body_bytes, url_bytes}) put_varint(forward_sizes_, size);

  std::string buffer;
  put_string(rows_, document_.docno);
  put_string(rows_, document_.url);
  put_string(rows_, one_line(document_.title, buffer));
  put_varint(rows_, tokens_);
  add_links(chunk);

  chunk.packed.lengths.push_back(tokens_);
  chunk.docno_hashes.push_back(xxh3_128(as_bytes(document_.docno)));
  chunk.empty += tokens_ == 0;
  chunk.without_url += document_.url.empty();
}

void ChunkBuilder::pack(ParsedChunk& chunk) {
  chunk.packed.row.documents = static_cast<std::uint32_t>(chunk.packed.lengths.size());
  chunk.packed.row.terms = chunk.terms.size();
  forward_sizes_.insert(forward_sizes_.end(), forward_.begin(), forward_.end());
  pack_piece(ChunkPiece::documents, rows_, zstd_, chunk.packed);
  pack_piece(ChunkPiece::forward, forward_sizes_, zstd_, chunk.packed);
  pack_piece(ChunkPiece::links, links_, zstd_, chunk.packed);
}

void ChunkBuilder::build(const RecordBatch& batch, ParsedChunk& chunk) {
  chunk.clear();
  for (Bytes* buffer : {&rows_, &forward_, &forward_sizes_, &links_}) buffer->clear();
  last_document_.clear();
  const std::uint64_t repaired_before = scratch_.repaired_utf8, cut_before = analyzer_.cut_terms();

  Bytes hashes;
  for (const RecordSpan& record : batch.records) {
    const std::string_view bytes = batch.text(record);
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
  pack(chunk);
}

}  // namespace quern
