#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "quern/core/bytes.hpp"
#include "quern/core/quantized.hpp"
#include "quern/formats/container.hpp"
#include "quern/formats/joined_lexicon.hpp"
#include "quern/formats/manifest_settings.hpp"
#include "quern/formats/term_dictionary.hpp"
#include "quern/io/zstd_frame.hpp"
#include "quern/text/analyzer.hpp"
#include "quern/text/field_value.hpp"
#include "quern/text/text_block.hpp"

/// The collection: a corpus after parsing, as documents, lexicon, forward lists and links. See collection.md.
namespace quern {

/// Of collections with weights that the corpus gave.

/// Settings and counts of a collection.
struct CollectionManifest {
  AnalyzerOptions analyzer;
  TextLibraries libraries;  ///< that made the terms
  std::string corpus_format;
  std::uint64_t max_document_bytes = 0;
  FieldNames field_names;  ///< of JSON objects, where they were named
  Duplicates duplicates = Duplicates::keep;
  PageChoice pages;
  std::optional<ImpactSettings> impacts;  ///< if the corpus gave the weights of terms
  std::uint64_t documents = 0;
  std::uint64_t empty_documents = 0;
  std::uint64_t terms = 0;     ///< of all streams
  std::uint64_t tokens = 0;    ///< of title and body; the sum of weights, if the corpus gave these
  std::uint64_t postings = 0;  ///< of title and body
  std::uint64_t links = 0;
  std::uint64_t documents_without_url = 0;
  std::uint64_t input_hash = 0;  ///< the sum of the XXH3-64 of all records, modulo 2^64; those of splits add up
  /// Of all texts, before compression; none if the collection keeps no texts.
  std::optional<std::uint64_t> text_bytes;

  std::string to_json() const;
  /// Throws CorruptFile, with `what`.
  static CollectionManifest from_json(const std::string& text, const std::string& what);
};

/// The pieces of a chunk (a run of documents that were parsed together), in the order in which they lie in the file.
enum class ChunkPiece { documents, forward, links };
inline constexpr int num_chunk_pieces = 3;

/// Place and contents of a chunk: a row of the section "chunks", and one of "text_rows" if there are texts.
struct ChunkRow {
  std::uint32_t documents = 0;  ///< that end in the chunk
  std::uint32_t terms = 0;      ///< distinct, numbered from 0 in the order in which they first occur
  std::uint64_t offset = 0;     ///< of its zstd frames in "chunk_data": the pieces, then the texts
  std::uint32_t sizes[num_chunk_pieces] = {};
  std::uint32_t raw_sizes[num_chunk_pieces] = {};
  std::uint64_t terms_offset = 0;  ///< of its terms' zstd frame in "chunk_terms"
  std::uint32_t terms_size = 0;
  bool unfinished = false;  ///< after these documents one begins or goes on that ends in a later chunk
  std::uint32_t text_size = 0, text_raw_size = 0;      ///< of the texts' frame; 0 if there is none
  std::uint32_t fields_size = 0, fields_raw_size = 0;  ///< of the kept fields' frame, behind that of texts; the same
};

/// A chunk ready to be written.
struct PackedChunk {
  ChunkRow row;
  Bytes frames;
  std::vector<std::uint32_t> lengths;  ///< tokens of title and body, for each document that ends in the chunk
};

/// Appends one piece of a chunk to `packed`, compressed; pieces in their order.
void pack_piece(ChunkPiece piece, ByteView raw, ZstdCompressor& zstd, PackedChunk& packed);
/// The same for the texts, which follow the pieces.
void pack_texts(ByteView raw, ZstdCompressor& zstd, PackedChunk& packed);
/// The same for kept fields, which follow the texts.
void pack_fields(ByteView raw, ZstdCompressor& zstd, PackedChunk& packed);

/// A document of a chunk; views into the chunk's buffers.
struct DocumentRow {
  std::string_view docno, url, title;
  std::uint32_t tokens = 0;  ///< of title and body
};

/// Reads a forward stream, token after token. Throws CorruptFile if a number has no end.
class TokenCursor {
 public:
  static constexpr std::uint32_t phrase_end_token = 0;
  TokenCursor(ByteView stream) : at_(stream.data()), end_(at_ + stream.size()) {}
  bool done() const { return at_ == end_; }
  /// phrase_end_token, or a chunk term + 1.
  std::uint32_t next() {
    std::uint32_t value = *at_++;
    if (value < 0x80) return value;
    value &= 0x7f;
    for (unsigned shift = 7;; shift += 7) {
      if (at_ == end_ || shift > 28) throw CorruptFile("a forward list has a token without an end");
      const std::uint32_t byte = *at_++;
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  }

 private:
  const std::uint8_t* at_;
  const std::uint8_t* end_;
};

/// Reads the body of a document whose weights the corpus gave: a weight after each term. Throws CorruptFile for a
/// number without an end, a term without a weight, and a weight of 0.
class WeightCursor {
 public:
  explicit WeightCursor(ByteView stream) : tokens_(stream) {}
  /// Goes to the next term; false at the end.
  bool next() {
    if (tokens_.done()) return false;
    term_ = tokens_.next();
    if (term_ == TokenCursor::phrase_end_token || tokens_.done() || (weight_ = tokens_.next()) == 0)
      throw CorruptFile("a forward list has a term without a weight");
    return true;
  }
  std::uint32_t chunk_term() const { return term_ - 1; }
  std::uint32_t weight() const { return weight_; }

 private:
  TokenCursor tokens_;
  std::uint32_t term_ = 0, weight_ = 0;
};

/// Codes the documents of a chunk. Of each document: the tokens and phrase ends of its title, body and URL, each stream
/// followed by end_stream(), then its links, then end_document(); its text in pieces anywhere before. A chunk ends with
/// pack(), which may come within a document: this goes on in the next chunk, and so do its streams, links and text. One
/// per thread.
class ChunkEncoder {
 public:
  /// With texts the chunks have a piece for them, and with kept fields one for these.
  explicit ChunkEncoder(bool with_texts = false, std::size_t kept_fields = 0)
      : with_texts_(with_texts), kept_fields_(kept_fields) {}
  /// Forgets everything, an open document too.
  void clear();
  void add_token(std::uint32_t chunk_term) { put_varint(streams_, chunk_term + 1); }
  /// Instead of tokens, if the corpus gives weights.
  void add_weight(std::uint32_t chunk_term, std::uint32_t weight) {
    add_token(chunk_term);
    put_varint(streams_, weight);
  }
  void add_phrase_end() { streams_.push_back(TokenCursor::phrase_end_token); }
  void end_stream();
  void add_text(std::string_view piece) { put_bytes(texts_, piece); }
  void add_link(std::string_view url, std::string_view anchor);
  /// `kept`: the values of its kept fields, coded; if empty, it has none.
  void end_document(const DocumentRow& row, ByteView kept = {});
  /// Bytes of the chunk so far, before compression and without those of texts.
  std::size_t bytes() const { return documents_.size() + streams_.size() + links_.size() + document_links_.size(); }
  std::size_t text_bytes() const { return texts_.size(); }
  /// True after the streams, links or text of a document have begun, until it ends.
  bool in_document() const {
    return ended_streams_ > 0 || streams_.size() > stream_begin_ || texts_.size() > text_begin_ || is_continued_;
  }
  /// Appends the chunk's pieces, compressed, and fills its row but for the terms. Begins the next chunk.
  void pack(ZstdCompressor& zstd, PackedChunk& packed);

 private:
  static constexpr std::size_t num_streams = 3;
  void end_row();
  void begin_chunk();

  bool with_texts_;
  std::size_t kept_fields_;
  Bytes fields_;
  Bytes documents_, stream_sizes_, streams_, links_, text_sizes_, texts_;
  std::size_t stream_begin_ = 0, text_begin_ = 0;
  // Of the open document.
  std::size_t ended_streams_ = 0;
  std::size_t put_sizes_ = 0;  ///< of its streams, in this chunk
  bool is_continued_ = false;  ///< it began in an earlier chunk
  Bytes document_links_;       ///< its links in this chunk
  std::uint64_t num_document_links_ = 0;
  std::uint32_t documents_ended_ = 0;
};

/// Writes a collection: chunks in order, the lexicon, the chunks' terms in order, finish().
class CollectionWriter {
 public:
  /// With texts, each chunk holds its documents' texts and the manifest states their size in bytes. With kept fields,
  /// each chunk holds their values and the manifest names them.
  CollectionWriter(File& file, const std::string& tmp_folder, bool with_texts = false, bool with_fields = false);
  void add_chunk(const PackedChunk& chunk);
  /// Ends the chunks and begins the lexicon.
  void begin_lexicon();
  void add_term(std::string_view term, std::uint64_t df, std::uint64_t cf);
  /// Ends the lexicon and begins the chunks' terms.
  void begin_chunk_terms();
  /// The lexicon numbers of the next chunk's terms.
  void add_chunk_terms(std::span<const term_t> terms);
  void finish(const CollectionManifest& manifest);

 private:
  void write_rows();
  /// A section with two numbers of each row.
  void write_sizes(std::string_view section, std::uint32_t ChunkRow::*size, std::uint32_t ChunkRow::*raw_size);

  ContainerWriter out_;
  bool with_texts_, with_fields_;
  ZstdCompressor zstd_;
  Spool lengths_;
  DictionaryWriter dictionary_;
  std::vector<ChunkRow> rows_;
  std::size_t next_chunk_terms_ = 0;
  std::uint64_t terms_offset_ = 0;
};

/// A document's streams, or what of them is in a chunk: tokens as varints of (chunk term + 1); 0 is a phrase end.
struct ForwardRow {
  ByteView title, body, url;
};

/// What one thread needs to read chunks.
struct ChunkBuffers {
  ZstdDecompressor zstd;
  Bytes frame;
  Bytes raw;
  std::vector<DocumentRow> documents;
  std::vector<ForwardRow> forward;
  std::vector<std::string_view> texts;
  std::vector<ByteView> fields;
  std::vector<term_t> terms;
  std::shared_ptr<const JoinedTerms> joined_terms;  ///< of the collection whose chunk was read last, of several
};

/// A document that is too large for one chunk.
struct SplitDocument {
  docid_t document = 0;
  std::size_t first_chunk = 0, last_chunk = 0;
};

/// A collection among several, by its contents.
struct CollectionSplit {
  std::uint64_t hash = 0;  ///< content hash of its file
  std::uint64_t documents = 0;

  auto operator<=>(const CollectionSplit&) const = default;  // NOLINT(modernize-use-nullptr): of the compiler
};

/// A term of a collection's lexicon.
struct LexiconEntry {
  std::string_view term;  ///< valid until the next entry
  std::uint64_t df = 0;   ///< documents with the term in title or body
  std::uint64_t cf = 0;   ///< its tokens in titles and bodies
};

/// Reads a lexicon in the order of its terms. Throws CorruptFile.
class LexiconScan {
 public:
  LexiconScan(const ContainerReader& container, std::uint64_t num_terms)
      : scan_(container, "lexicon", num_terms), what_(container.name() + ": section 'lexicon'") {}
  /// False at the end.
  bool next(LexiconEntry& entry);
  std::uint64_t size() const { return scan_.size(); }

 private:
  DictionaryScan scan_;
  std::string what_;
};

/// What of a manifest's counts the documents show.
struct CollectionCounts {
  std::uint64_t tokens = 0, empty_documents = 0, documents_without_url = 0, links = 0, text_bytes = 0;
  bool operator==(const CollectionCounts&) const = default;
  CollectionCounts operator+(const CollectionCounts& other) const {
    return {tokens + other.tokens, empty_documents + other.empty_documents,
            documents_without_url + other.documents_without_url, links + other.links, text_bytes + other.text_bytes};
  }
};

/// Reads a collection piece by piece: nothing is mapped, so it takes no memory but the buffers. Thread-safe where each
/// thread brings its own buffers. All throw CorruptFile if the pieces contradict each other.
///
/// Several collections may be read as one, in the order in which they are named: as if their corpora had been parsed
/// together. Their chunks keep their files, and the reader joins their lexicons.
class CollectionReader {
 public:
  static CollectionReader open(const std::string& path);
  /// Several as one, or one. join_lexicons() must come before terms are read. Throws InvalidArgument if they were made
  /// with other settings or libraries than the first, or hold more than 2^32 - 2 documents in all; and if one is named
  /// twice.
  static CollectionReader open(const std::vector<std::string>& paths);
  explicit CollectionReader(std::shared_ptr<const File> file);
  explicit CollectionReader(const std::vector<std::shared_ptr<const File>>& files);

  /// Where there are several: joins the lexicons of those with a document of which is_wanted(number) holds, or of all
  /// without it. Chunks of the others can't be read then. Takes about `memory_bytes` meanwhile.
  void join_lexicons(const std::string& tmp_folder, std::uint64_t memory_bytes,
                     const std::function<bool(docid_t)>& is_wanted = {});

  /// The file's name, or what several are.
  const std::string& name() const { return name_; }
  /// How many collections there are.
  std::size_t num_parts() const { return parts_.size(); }
  /// The file of a collection on its own, or of the first.
  const ContainerReader& container() const { return parts_.front().container; }
  /// Each of the collections.
  std::vector<CollectionSplit> splits() const;
  /// Names what the collection holds: container().content_hash(), or a hash over those of several, in their order.
  std::uint64_t content_hash() const;
  /// Checks every byte of the files whose forward lists can be read, or of all, as ContainerReader::verify() does.
  void verify(const Resources& resources, bool all = false) const;
  const CollectionManifest& manifest() const { return manifest_; }
  docid_t num_documents() const { return static_cast<docid_t>(manifest_.documents); }
  std::size_t num_chunks() const { return rows_.size(); }
  const ChunkRow& chunk(std::size_t i) const { return rows_[i]; }
  /// Number of the chunk's first document: of the first that ends in it, or of the one that goes through it.
  docid_t first_document(std::size_t i) const { return first_documents_[i]; }
  /// True if the chunk's first document began in an earlier one.
  bool is_continued(std::size_t i) const { return i > 0 && rows_[i - 1].unfinished; }
  /// Documents with streams in the chunk: those that end in it, and one that goes on in the next.
  std::uint32_t num_rows(std::size_t i) const { return rows_[i].documents + (rows_[i].unfinished ? 1 : 0); }
  /// Documents that begin in one chunk and end in a later one, in their order.
  const std::vector<SplitDocument>& split_documents() const { return split_documents_; }

  /// What the reader's own tables take in memory.
  std::uint64_t table_bytes() const;
  /// What forward() takes in memory.
  std::uint64_t forward_bytes(std::size_t chunk) const;
  /// True if the documents' texts are kept.
  bool has_texts() const { return manifest_.text_bytes.has_value(); }
  /// True if fields of the documents are kept: manifest().field_names.kept.
  bool has_fields() const { return !manifest_.field_names.kept.empty(); }

  /// The documents that end in the chunk; views into the buffers, valid until these are used again.
  std::span<const DocumentRow> documents(std::size_t chunk, ChunkBuffers& buffers) const;
  /// The streams of the chunk's rows, and in buffers.terms the lexicon number of each chunk term.
  std::span<const ForwardRow> forward(std::size_t chunk, ChunkBuffers& buffers) const;
  /// The texts of the chunk's rows, or what of them is in the chunk; views into the buffers. The collection must have
  /// texts.
  std::span<const std::string_view> texts(std::size_t chunk, ChunkBuffers& buffers) const;
  /// The values of the kept fields of each document that ends in the chunk, coded; views into the buffers.
  std::span<const ByteView> fields(std::size_t chunk, ChunkBuffers& buffers) const;
  /// Calls visit(row in chunk, url, anchor) for each link, in order.
  void links(std::size_t chunk, ChunkBuffers& buffers,
             const std::function<void(std::uint32_t, std::string_view, std::string_view)>& visit) const;
  /// Tokens of title and body, for each document.
  std::vector<std::uint32_t> lengths() const;
  LexiconScan lexicon() const { return LexiconScan(lexicon_container(), manifest_.terms); }
  /// Has the lexicon.
  const ContainerReader& lexicon_container() const { return joined_ ? joined_->container() : container(); }

  /// Beyond the sums: decodes every piece and compares it with the others' counts.
  void verify_contents(const Resources& resources) const;

 private:
  /// A collection of several.
  struct Part {
    ContainerReader container;
    CollectionManifest manifest;
    std::size_t first_chunk = 0;
    docid_t first_document = 0;
    bool is_read = true;  ///< its lexicon is among the joined ones
  };
  void add_part(std::shared_ptr<const File> file);
  void read_rows(const Part& part);
  /// Reads two numbers of each of the last part's rows: the sizes of a frame that the sections before it do not have.
  void read_sizes(const Part& part, std::string_view section, std::uint32_t ChunkRow::*size,
                  std::uint32_t ChunkRow::*raw_size);
  std::size_t part_number(std::size_t chunk) const;
  const Part& part_of(std::size_t chunk) const { return parts_[part_number(chunk)]; }
  std::string place(std::size_t chunk, std::string_view what) const;
  /// Reads a frame that begins at an offset in the section "chunk_data" of the chunk's file.
  void load_frame(std::size_t chunk, std::uint64_t offset, std::uint32_t size, std::uint32_t raw_size,
                  std::string_view what, ChunkBuffers& buffers) const;
  void load_piece(std::size_t chunk, ChunkPiece piece, ChunkBuffers& buffers) const;
  void load_texts(std::size_t chunk, ChunkBuffers& buffers) const;
  void load_fields(std::size_t chunk, ChunkBuffers& buffers) const;
  void load_terms(std::size_t chunk, ChunkBuffers& buffers) const;
  /// Tokens of title and body, or the sum of the weights there.
  std::uint64_t count_tokens(std::size_t chunk, const ForwardRow& row) const;
  std::uint64_t sum_weights(std::size_t chunk, ByteView body) const;
  /// Returns how many bytes of text are in the chunk.
  std::uint64_t verify_texts(std::size_t chunk, ChunkBuffers& buffers) const;
  /// Returns what of the manifest's counts is in the chunk.
  CollectionCounts verify_chunk(std::size_t chunk, ChunkBuffers& buffers) const;
  void verify_split(const SplitDocument& split, ChunkBuffers& buffers) const;

  std::vector<Part> parts_;
  std::string name_;
  CollectionManifest manifest_;
  std::shared_ptr<const JoinedLexicon> joined_;  ///< of several parts
  std::vector<ChunkRow> rows_;
  std::vector<docid_t> first_documents_;
  std::vector<SplitDocument> split_documents_;
};

}  // namespace quern
