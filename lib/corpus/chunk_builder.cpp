#include "quern/corpus/chunk_builder.hpp"

#include <fmt/format.h>

#include "quern/text/utf8.hpp"

namespace quern {
namespace {

/// Longer titles are indexed whole, but stored cut, for display only.
constexpr std::size_t max_title_bytes = 1000;

/// The title on one line, with runs of white space and phrase ends as single spaces.
std::string_view one_line(PieceSource& text, std::string& buffer) {
  buffer.clear();
  constexpr std::size_t enough = max_title_bytes + 4;  // includes a split character
  for (std::string_view piece = text.next(); !piece.empty() && buffer.size() < enough; piece = text.next()) {
    for (const char c : piece) {
      if (buffer.size() >= enough) break;
      const bool space = c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v' || c == phrase_end;
      if (!space)
        buffer.push_back(c);
      else if (!buffer.empty() && buffer.back() != ' ')
        buffer.push_back(' ');
    }
  }
  if (!buffer.empty() && buffer.back() == ' ') buffer.pop_back();
  return cut_at_character(buffer, max_title_bytes);
}

std::uint64_t hash_of(const RecordText& record) {
  if (record.is_whole()) return xxh3(as_bytes(record.head()));
  StreamHash hash;
  const auto pieces = record.pieces();
  for (std::string_view piece = pieces->next(); !piece.empty(); piece = pieces->next()) hash.add(as_bytes(piece));
  return hash.value();
}

/// A stream in small pieces; see(piece) receives each piece before it is returned.
template <class See>
class SeenPieces final : public PieceSource {
 public:
  SeenPieces(PieceSource& from, std::size_t max_bytes, See see) : sliced_(from, max_bytes), see_(std::move(see)) {}
  std::string_view next() override {
    const std::string_view piece = sliced_.next();
    if (!piece.empty()) see_(piece);
    return piece;
  }

 private:
  SlicedPieces sliced_;
  See see_;
};

/// A stream's text is stored in steps of this size, each before its tokens.
constexpr std::size_t text_step_bytes = 64 << 10;

/// Thrown by end_chunk() when a chunk is refused, to abandon the current document.
struct ChunkRefused {};

}  // namespace

void ParsedChunk::clear() {
  packed.row = {};
  packed.frames.clear();
  packed.lengths.clear();
  terms.clear();
  df.clear();
  cf.clear();
  in_continued.clear();
  in_unfinished.clear();
  is_continued = false;
  docno_hashes.clear();
}

std::uint64_t ParsedChunk::memory_bytes() const {
  return packed.frames.capacity() + packed.lengths.capacity() * 4 + terms.memory_bytes() + df.capacity() * 4 +
         cf.capacity() * 8 + (in_continued.capacity() + in_unfinished.capacity()) * 4 +
         docno_hashes.capacity() * sizeof(Hash128);
}

/// Tokens wait in a small batch, so that the memory of all their terms can be prefetched at once.
void ChunkBuilder::add_token(std::string_view token, bool counted, const TakeChunk& take) {
  const TermKey key = padded_term_key(token);
  if (token.size() > TermKey::prefix_bytes) {
    add_waiting(counted, take);
    add_term(key, counted, take);
    return;
  }
  chunk_.terms.fetch_slot(key.hash);
  waiting_[num_waiting_++] = {key.prefix, key.hash, token.size()};
  if (num_waiting_ == waiting_.size()) add_waiting(counted, take);
}

void ChunkBuilder::add_phrase_end(bool counted, const TakeChunk& take) {
  waiting_[num_waiting_++] = {{}, 0, 0};
  if (num_waiting_ == waiting_.size()) add_waiting(counted, take);
}

void ChunkBuilder::add_waiting(bool counted, const TakeChunk& take) {
  const std::span<const WaitingToken> waiting(waiting_.data(), std::exchange(num_waiting_, 0));
  for (const WaitingToken& token : waiting) {
    const std::uint32_t term = chunk_.terms.fetch_row(token.hash);
    if (term < counts_.size()) __builtin_prefetch(&counts_[term], 1);
  }
  for (const WaitingToken& token : waiting) {
    if (token.size == 0) {
      encoder_.add_phrase_end();
    } else {
      const std::string_view term(reinterpret_cast<const char*>(token.prefix.data()), token.size);
      add_term({term, token.prefix, token.hash}, counted, take);
    }
  }
}

std::uint32_t ChunkBuilder::number_of(const TermKey& key, const TakeChunk& take) {
  if (is_full()) end_chunk(take);
  const std::uint32_t term = chunk_.terms.add(key);
  if (term == counts_.size()) counts_.emplace_back();
  return term;
}

void ChunkBuilder::count(std::uint32_t term, std::uint32_t occurrences) {
  const auto document = static_cast<std::uint32_t>(chunk_.packed.lengths.size()) + 1;
  TermCounts& counts = counts_[term];
  tokens_ += occurrences;
  counts.cf += occurrences;
  if (counts.last_document == document) return;
  ++counts.df;
  counts.last_document = document;
  if (document == 1 && chunk_.is_continued) chunk_.in_continued.push_back(term);
}

void ChunkBuilder::add_term(const TermKey& key, bool counted, const TakeChunk& take) {
  const std::uint32_t term = number_of(key, take);
  if (counted) count(term, 1);
  encoder_.add_token(term);
}

void ChunkBuilder::add_stream(PieceSource& text, bool counted, const TakeChunk& take) {
  analyzer_.analyze(
      text, [&](std::string_view token) { add_token(token, counted, take); }, [&] { add_phrase_end(counted, take); });
  add_waiting(counted, take);
  encoder_.end_stream();
}

/// Moves line_bytes_ to the chunk.
void ChunkBuilder::put_line_bytes(const TakeChunk& take) {
  if (line_bytes_.empty()) return;
  if (is_full()) end_chunk(take);
  encoder_.add_text(line_bytes_);
  text_bytes_ += line_bytes_.size();
  line_bytes_.clear();
}

/// Interleaves text and tokens in the chunk, so that both cover about the same part of the document when it is full.
void ChunkBuilder::add_kept_stream(PieceSource& text, const TakeChunk& take) {
  SeenPieces seen(text, std::min(text_step_bytes, limits_.bytes), [&](std::string_view piece) {
    add_waiting(true, take);
    lines_.append(piece, line_bytes_);
    put_line_bytes(take);
  });
  add_stream(seen, true, take);
}

void ChunkBuilder::keep_text(PieceSource& text, const TakeChunk& take) {
  SlicedPieces sliced(text, std::min(text_step_bytes, limits_.bytes));
  for (std::string_view piece = sliced.next(); !piece.empty(); piece = sliced.next()) {
    lines_.append(piece, line_bytes_);
    put_line_bytes(take);
  }
}

/// Adds the texts and terms of a document whose corpus supplies term weights: its only tokens are the body's terms,
/// each with a weight.
void ChunkBuilder::add_weights(const TakeChunk& take) {
  if (store_text_) {
    keep_text(*document_.title.pieces(), take);
    lines_.end_title(line_bytes_);
    keep_text(*document_.body.pieces(), take);
    lines_.finish(line_bytes_);
    put_line_bytes(take);
  }
  encoder_.end_stream();
  document_.weights.for_each([&](std::string_view name, std::uint32_t weight) {
    const std::uint32_t term = number_of(term_key(name), take);
    count(term, weight);
    encoder_.add_weight(term, weight);
  });
  encoder_.end_stream();
  encoder_.end_stream();
}

void ChunkBuilder::add_texts(const TakeChunk& take) {
  add_title_and_body(take);
  ViewPieces url(document_.url);
  add_stream(url, false, take);
}

void ChunkBuilder::add_title_and_body(const TakeChunk& take) {
  const auto title = document_.title.pieces(), body = document_.body.pieces();
  if (!store_text_) {
    add_stream(*title, true, take);
    title_tokens_ += tokens_;
    add_stream(*body, true, take);
    return;
  }
  add_kept_stream(*title, take);
  title_tokens_ += tokens_;
  lines_.end_title(line_bytes_);
  add_kept_stream(*body, take);
  lines_.finish(line_bytes_);
  put_line_bytes(take);
}

void ChunkBuilder::add_document(ParsedBatch& parsed, const TakeChunk& take) {
  tokens_ = 0;
  if (scratch_.impacts)
    add_weights(take);
  else
    add_texts(take);
  document_.links.for_each([&](std::string_view target, std::string_view anchor) {
    if (is_full()) end_chunk(take);
    encoder_.add_link(target, anchor);
  });
  std::string buffer;
  encoder_.end_document({document_.docno, document_.url, one_line(*document_.title.pieces(), buffer), tokens_},
                        document_.kept);

  parsed.links += document_.links.count();
  chunk_.packed.lengths.push_back(tokens_);
  chunk_.docno_hashes.push_back(xxh3_128(as_bytes(document_.docno)));
  parsed.without_url += document_.url.empty();
}

/// Why the current document has no token.
std::string ChunkBuilder::why_empty(const CorpusFormat& format, const RecordText& record) const {
  const std::string start = "document " + quoted_start(document_.docno) + " is empty: ";
  if (scratch_.impacts) return start + "it has no term weights";
  std::string buffer;
  std::string_view text = one_line(*document_.title.pieces(), buffer);
  if (text.empty()) text = one_line(*document_.body.pieces(), buffer);
  if (!text.empty()) return start + "its text " + quoted_start(text) + " has no terms";
  return fmt::format("{}{}; its record has {} bytes", start, without_text(format, scratch_, "ignored"), record.size());
}

/// Passes the chunk on and starts the next one, which continues the open document, if any.
void ChunkBuilder::end_chunk(const TakeChunk& take) {
  const auto unfinished = static_cast<std::uint32_t>(chunk_.packed.lengths.size()) + 1;
  chunk_.packed.row.terms = chunk_.terms.size();
  encoder_.pack(zstd_, chunk_.packed);
  const bool goes_on = chunk_.packed.row.unfinished;
  for (std::uint32_t term = 0; term < counts_.size(); ++term) {
    const TermCounts& counts = counts_[term];
    chunk_.df.push_back(counts.df);
    chunk_.cf.push_back(counts.cf);
    if (goes_on && counts.last_document == unfinished) chunk_.in_unfinished.push_back(term);
  }
  if (!take(chunk_)) throw ChunkRefused();
  chunk_.clear();
  chunk_.is_continued = goes_on;
  counts_.clear();
}

void ChunkBuilder::add_record(const RecordBatch& batch, const RecordSpan& record, ParsedBatch& parsed,
                              const TakeChunk& take) {
  const RecordText text = batch.text(record);
  parsed.bytes += text.size();
  input_hash_ += hash_of(text);
  if (record.left_out != LeftOut::no) {
    parsed.other_language += record.left_out == LeftOut::other_language;
    parsed.no_language += record.left_out == LeftOut::no_language;
    parsed.copies += record.left_out == LeftOut::copy;
    return;
  }
  document_.clear();
  scratch_.file_charset = record.file_charset;
  const std::uint64_t repaired_before = scratch_.repaired_utf8;
  const ParsedRecord result = scratch_.impacts && !record.format->gives_weights
                                  ? ParsedRecord{RecordKind::bad, "its format has no term weights"}
                                  : record.format->parse(text, scratch_, document_);
  if (result.kind == RecordKind::document) {
    add_document(parsed, take);
    if (tokens_ == 0 && parsed.empty++ == 0)
      parsed.first_empty = {record.file, record.file_offset, why_empty(*record.format, text)};
    if (record.is_cut && parsed.cut++ == 0)
      parsed.first_cut = {record.file, record.file_offset,
                          "document " + quoted_start(document_.docno) + " may lack text: the file ends within it"};
    if (tokens_ > 0 && !result.remark.empty() && parsed.remarked++ == 0)
      parsed.remark = {record.file, record.file_offset, result.remark};
  }
  if (scratch_.repaired_utf8 > repaired_before && parsed.first_repaired.reason.empty())
    parsed.first_repaired = {record.file, record.file_offset, "document " + quoted_start(document_.docno)};
  if (result.kind == RecordKind::skipped && parsed.skipped++ == 0)
    parsed.first_skipped = {record.file, record.file_offset, result.reason};
  if (result.kind == RecordKind::bad)
    parsed.bad.push_back({record.file, record.file_offset, result.reason, result.needs_options});
}

bool ChunkBuilder::build(const RecordBatch& batch, ParsedBatch& parsed, const TakeChunk& take) {
  parsed = ParsedBatch();
  chunk_.clear();
  encoder_.clear();
  lines_ = {};
  line_bytes_.clear();
  text_bytes_ = title_tokens_ = 0;
  num_waiting_ = 0;
  counts_.clear();
  const std::uint64_t repaired_before = scratch_.repaired_utf8, cut_before = analyzer_.cut_terms();

  input_hash_ = 0;
  try {
    for (const RecordSpan& record : batch.records) add_record(batch, record, parsed, take);
    if (!chunk_.packed.lengths.empty()) end_chunk(take);
  } catch (const ChunkRefused&) {
    return false;
  }
  for (const BadRecord& bad : batch.bad)
    parsed.bad.push_back({bad.file, bad.file_offset, bad.reason, false, bad.in_stored_file});

  parsed.records = batch.records.size() + batch.bad.size();
  parsed.repaired_utf8 = scratch_.repaired_utf8 - repaired_before;
  parsed.cut_terms = analyzer_.cut_terms() - cut_before;
  parsed.compressed_bytes = batch.compressed_bytes;
  parsed.input_hash = input_hash_;
  parsed.text_bytes = text_bytes_;
  parsed.title_tokens = title_tokens_;
  return true;
}

}  // namespace quern
