#pragma once
#include "quern/formats/container.hpp"
#include "quern/formats/joined_lexicon.hpp"
#include "quern/formats/manifest_settings.hpp"
#include "quern/formats/term_dictionary.hpp"
#include "quern/io/zstd_frame.hpp"
#include "quern/text/analyzer.hpp"
#include "quern/text/field_value.hpp"
#include "quern/text/text_block.hpp"

/// The collection: a parsed corpus with documents, lexicon, forward lists and links. See collection.md.
namespace quern {

/// Settings and counts of a collection.
struct CollectionManifest {
  AnalyzerOptions analyzer;
  TextLibraries libraries;  ///< libraries that produced the terms
  std::string corpus_format;
  std::uint64_t max_document_bytes = 0;
  FieldNames field_names;  ///< of JSON objects, if the user named them
  Duplicates duplicates = Duplicates::keep;
  PageChoice pages;
  std::optional<ImpactSettings> impacts;  ///< if the corpus has term weights
  std::uint64_t documents = 0;
  std::uint64_t empty_documents = 0;
  std::uint64_t terms = 0;   ///< of all streams
  std::uint64_t tokens = 0;  ///< of title and body; the sum of weights if the corpus has them
  /// Tokens of titles; nullopt if an earlier version parsed the corpus, which did not count them.
  std::optional<std::uint64_t> title_tokens;
  std::uint64_t postings = 0;  ///< of title and body
  std::uint64_t links = 0;
  std::uint64_t documents_without_url = 0;
  std::uint64_t input_hash = 0;  ///< sum of the XXH3-64 of all records, modulo 2^64; sums of splits add up
  /// Bytes of all texts before compression; nullopt if the collection keeps no texts.
  std::optional<std::uint64_t> text_bytes;
  /// Bad documents that were skipped, and how many the whole corpus may have; nullopt if there is none or no limit.
  std::optional<std::uint64_t> bad_documents, max_bad_documents;

  std::string to_json() const;
  /// Throws CorruptFile, with `what`.
  static CollectionManifest from_json(const std::string& text, const std::string& what);
  /// Adds the optional counts of another split of the corpus, called `what`: tokens in titles, which are unknown if
  /// either lacks them, and bad documents. Throws InvalidArgument if the splits can't stand for one collection: if they
  /// have more bad documents than the corpus may have, or if copies were dropped, which needs all pages.
  void add_optional_counts(const CollectionManifest& other, const std::string& what);
};

/// The pieces of a chunk (documents parsed together), each a zstd frame, in file order. The last two exist only if
/// texts or fields are kept.
enum class ChunkPiece { documents, forward, links, texts, fields };
inline constexpr std::size_t num_chunk_pieces = 5;
/// Pieces of every chunk, whose sizes are in its row of the section "chunks".
inline constexpr std::size_t num_fixed_pieces = 3;

/// Location and counts of a chunk: a row of the section "chunks", and of "text_rows" and "field_rows" if these are
/// kept.
struct ChunkRow {
  std::uint32_t documents = 0;  ///< that end in the chunk
  std::uint32_t terms = 0;      ///< distinct terms, numbered from 0 by first occurrence
  std::uint64_t offset = 0;     ///< of its pieces in "chunk_data"
  std::uint32_t sizes[num_chunk_pieces] = {};
  std::uint32_t raw_sizes[num_chunk_pieces] = {};
  std::uint64_t terms_offset = 0;  ///< of its terms' zstd frame in "chunk_terms"
  std::uint32_t terms_size = 0;
  bool unfinished = false;  ///< another document follows, which ends in a later chunk
};

/// A chunk ready to be written.
struct PackedChunk {
  ChunkRow row;
  Bytes frames;
  std::vector<std::uint32_t> lengths;  ///< tokens of title and body of each document that ends in the chunk
};

/// Compresses a piece of a chunk and appends it to `packed`. Pieces must come in order.
void pack_piece(ChunkPiece piece, ByteView raw, ZstdCompressor& zstd, PackedChunk& packed);

/// A document of a chunk, as views of the chunk's buffers.
struct DocumentRow {
  std::string_view docno, url, title;
  std::uint32_t tokens = 0;  ///< of title and body
};

/// Reads the tokens of a forward stream. Throws CorruptFile for an unterminated number.
class TokenCursor {
 public:
  static constexpr std::uint32_t phrase_end_token = 0;
  TokenCursor(ByteView stream) : at_(stream.data()), end_(at_ + stream.size()) {}
  bool done() const { return at_ == end_; }
  /// Returns phrase_end_token, or a chunk term + 1.
  std::uint32_t next() {
    // Nearly all tokens take one byte or two, in no order that a processor could predict: no branch tells these apart.
    if (end_ - at_ >= 2 && (at_[0] & at_[1]) < 0x80) {
      const std::uint32_t has_second = at_[0] >> 7, value = (at_[0] & 0x7fu) | (at_[1] & (0 - has_second)) << 7;
      at_ += 1 + has_second;
      return value;
    }
    std::uint32_t value = *at_++;
    if (value < 0x80) return value;
    value &= 0x7f;
    for (unsigned shift = 7;; shift += 7) {
      if (at_ == end_ || shift > 28) throw CorruptFile("a forward list has an unterminated token");
      const std::uint32_t byte = *at_++;
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  }

 private:
  const std::uint8_t* at_;
  const std::uint8_t* end_;
};

/// Reads the body of a document with term weights: a weight follows each term. Throws CorruptFile for an unterminated
/// number, a term without a weight, and a weight of 0.
class WeightCursor {
 public:
  explicit WeightCursor(ByteView stream) : tokens_(stream) {}
  /// Moves to the next term; false at the end.
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

/// Encodes the documents of a chunk. Call for each document: tokens and phrase ends of title, body and URL, each stream
/// followed by end_stream(); then its links; then end_document(). Its text may come in pieces anywhere before. pack()
/// ends a chunk, even within a document, whose streams, links and text then continue in the next chunk. One per thread.
class ChunkEncoder {
 public:
  /// Chunks get a frame for texts and one for kept fields if requested.
  explicit ChunkEncoder(bool with_texts = false, std::size_t kept_fields = 0)
      : with_texts_(with_texts), kept_fields_(kept_fields) {}
  /// Discards everything, including an open document.
  void clear();
  void add_token(std::uint32_t chunk_term) { put_varint(streams_, chunk_term + 1); }
  /// Adds a weight instead of tokens, if the corpus has weights.
  void add_weight(std::uint32_t chunk_term, std::uint32_t weight) {
    add_token(chunk_term);
    put_varint(streams_, weight);
  }
  void add_phrase_end() { streams_.push_back(TokenCursor::phrase_end_token); }
  void end_stream();
  void add_text(std::string_view piece) { put_bytes(texts_, piece); }
  void add_link(std::string_view url, std::string_view anchor);
  /// `kept` holds the encoded values of its kept fields; empty if it has none.
  void end_document(const DocumentRow& row, ByteView kept = {});
  /// Bytes of the chunk so far, before compression and without texts.
  std::size_t bytes() const { return documents_.size() + streams_.size() + links_.size() + document_links_.size(); }
  std::size_t text_bytes() const { return texts_.size(); }
  /// True from a document's first stream, link or text to its end.
  bool in_document() const {
    return ended_streams_ > 0 || streams_.size() > stream_begin_ || texts_.size() > text_begin_ || is_continued_;
  }
  /// Compresses and appends the chunk's pieces and fills its row except for the terms. Begins the next chunk.
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
  // State of the open document.
  std::size_t ended_streams_ = 0;
  std::size_t put_sizes_ = 0;  ///< sizes of its streams written in this chunk
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
  /// Ends the chunks and starts the lexicon.
  void begin_lexicon();
  void add_term(std::string_view term, std::uint64_t df, std::uint64_t cf);
  /// Ends the lexicon and starts the chunks' terms.
  void begin_chunk_terms();
  /// Adds the lexicon numbers of the next chunk's terms.
  void add_chunk_terms(std::span<const term_t> terms);
  void finish(const CollectionManifest& manifest);

 private:
  void write_rows();
  /// Writes a section with the sizes of a piece per row.
  void write_sizes(std::string_view section, ChunkPiece piece);

  ContainerWriter out_;
  bool with_texts_, with_fields_;
  ZstdCompressor zstd_;
  Spool lengths_;
  DictionaryWriter dictionary_;
  std::vector<ChunkRow> rows_;
  std::size_t next_chunk_terms_ = 0;
};

/// A document's streams within a chunk: tokens as varints of (chunk term + 1); 0 is a phrase end.
struct ForwardRow {
  ByteView title, body, url;
};

/// A thread's buffers for reading chunks.
struct ChunkBuffers {
  ZstdDecompressor zstd;
  Bytes frame;
  Bytes raw;
  std::vector<DocumentRow> documents;
  std::vector<ForwardRow> forward;
  std::vector<std::string_view> texts;
  std::vector<ByteView> fields;
  std::vector<term_t> terms;
  std::shared_ptr<const JoinedTerms> joined_terms;  ///< terms of the collection read last, if there are several
};

/// A document that spans several chunks.
struct SplitDocument {
  docid_t document = 0;
  std::size_t first_chunk = 0, last_chunk = 0;
};

/// Identifies a collection among several by its contents.
struct CollectionSplit {
  std::uint64_t hash = 0;  ///< content hash of the file
  std::uint64_t documents = 0;

  auto operator<=>(const CollectionSplit&) const = default;  // NOLINT(modernize-use-nullptr): of the compiler
};

/// Counts of a manifest that can be checked against the documents.
struct CollectionCounts {
  std::uint64_t tokens = 0, empty_documents = 0, documents_without_url = 0, links = 0, text_bytes = 0, title_tokens = 0;
  bool operator==(const CollectionCounts&) const = default;
  CollectionCounts operator+(const CollectionCounts& other) const {
    return {tokens + other.tokens,
            empty_documents + other.empty_documents,
            documents_without_url + other.documents_without_url,
            links + other.links,
            text_bytes + other.text_bytes,
            title_tokens + other.title_tokens};
  }
};

/// Reads a collection piece by piece, without mapping the file: it needs no memory except the buffers. Thread-safe if
/// each thread uses its own buffers. All functions throw CorruptFile if the pieces contradict each other.
///
/// Several collections can be read as one, in the given order, as if their corpora had been parsed together. The chunks
/// stay in their files, and the reader joins the lexicons.
class CollectionReader {
 public:
  static CollectionReader open(const std::string& path);
  /// Opens one collection or several as one. join_lexicons() must precede reading terms. Throws InvalidArgument if
  /// their settings or libraries differ, if they exceed 2^32 - 2 documents in total, or as add_optional_counts().
  static CollectionReader open(const std::vector<std::string>& paths);
  explicit CollectionReader(std::shared_ptr<const File> file);
  explicit CollectionReader(const std::vector<std::shared_ptr<const File>>& files);

  /// If there are several, joins the lexicons of those that contain a document with is_wanted(number), or of all
  /// without it. Chunks of the others become unreadable. Needs about `memory_bytes` meanwhile.
  void join_lexicons(const std::string& tmp_folder, std::uint64_t memory_bytes,
                     const std::function<bool(docid_t)>& is_wanted = {});

  /// The file's name, or a description of several.
  const std::string& name() const { return name_; }
  /// Number of collections.
  std::size_t num_parts() const { return parts_.size(); }
  /// The file of the only or first collection.
  const ContainerReader& container() const { return parts_.front().container; }
  /// Identifies each collection.
  std::vector<CollectionSplit> splits() const;
  /// Identifies the contents: container().content_hash(), or a hash over those of several, in order.
  std::uint64_t content_hash() const;
  /// Calls ContainerReader::verify() for all files, or only for those whose forward lists can be read.
  void verify(const Resources& resources, bool all = false) const;
  const CollectionManifest& manifest() const { return manifest_; }
  docid_t num_documents() const { return static_cast<docid_t>(manifest_.documents); }
  std::size_t num_chunks() const { return rows_.size(); }
  const ChunkRow& chunk(std::size_t i) const { return rows_[i]; }
  /// Number of the first document that ends in the chunk, or of the one that spans it.
  docid_t first_document(std::size_t i) const { return first_documents_[i]; }
  /// True if the chunk's first document began in an earlier one.
  bool is_continued(std::size_t i) const { return i > 0 && rows_[i - 1].unfinished; }
  /// Documents with streams in the chunk: those that end in it, and one that continues in the next.
  std::uint32_t num_rows(std::size_t i) const { return rows_[i].documents + (rows_[i].unfinished ? 1 : 0); }
  /// Documents that span several chunks, in order.
  const std::vector<SplitDocument>& split_documents() const { return split_documents_; }

  /// Memory use of the reader's tables, in bytes.
  std::uint64_t table_bytes() const;
  /// Memory use of forward(), in bytes.
  std::uint64_t forward_bytes(std::size_t chunk) const;
  /// Whether the documents' texts are kept.
  bool has_texts() const { return manifest_.text_bytes.has_value(); }
  /// Whether fields are kept: those in manifest().field_names.kept.
  bool has_fields() const { return !manifest_.field_names.kept.empty(); }

  /// The documents that end in the chunk; views of the buffers, valid until their next use.
  std::span<const DocumentRow> documents(std::size_t chunk, ChunkBuffers& buffers) const;
  /// The streams of the chunk's rows; sets buffers.terms to the lexicon number of each chunk term.
  std::span<const ForwardRow> forward(std::size_t chunk, ChunkBuffers& buffers) const;
  /// The texts of the chunk's rows, as far as they are in the chunk; views of the buffers. The collection must keep
  /// texts.
  std::span<const std::string_view> texts(std::size_t chunk, ChunkBuffers& buffers) const;
  /// The encoded kept fields of each document that ends in the chunk; views of the buffers.
  std::span<const ByteView> fields(std::size_t chunk, ChunkBuffers& buffers) const;
  /// Calls visit(row in chunk, url, anchor) for each link, in order.
  void links(std::size_t chunk, ChunkBuffers& buffers,
             const std::function<void(std::uint32_t, std::string_view, std::string_view)>& visit) const;
  /// Tokens of title and body of each document.
  std::vector<std::uint32_t> lengths() const;
  DictionaryScan lexicon() const { return {lexicon_container(), "lexicon", manifest_.terms}; }
  /// The container that holds the lexicon.
  const ContainerReader& lexicon_container() const { return joined_ ? joined_->container() : container(); }

  /// Decodes every piece and compares the counts, in addition to checking the sums.
  void verify_contents(const Resources& resources) const;

 private:
  /// One of several collections.
  struct Part {
    ContainerReader container;
    CollectionManifest manifest;
    std::size_t first_chunk = 0;
    docid_t first_document = 0;
    bool is_read = true;  ///< its lexicon was joined
  };
  void add_part(std::shared_ptr<const File> file);
  void read_rows(const Part& part);
  /// Reads the sizes of a piece for each row of the last part.
  void read_sizes(const Part& part, std::string_view section, ChunkPiece piece);
  std::size_t part_number(std::size_t chunk) const;
  const Part& part_of(std::size_t chunk) const { return parts_[part_number(chunk)]; }
  std::string place(std::size_t chunk, std::string_view what) const;
  /// Calls read(ByteReader&) for a piece, which must read all of it. Messages call it `name`.
  template <class Read>
  void read_piece(std::size_t chunk, ChunkPiece piece, std::string_view name, ChunkBuffers& buffers, Read&& read) const;
  void load_terms(std::size_t chunk, ChunkBuffers& buffers) const;
  std::uint64_t count_stream(std::size_t chunk, ByteView stream) const;
  /// Tokens of title and body, or the sum of their weights.
  std::uint64_t count_tokens(std::size_t chunk, const ForwardRow& row) const;
  std::uint64_t sum_weights(std::size_t chunk, ByteView body) const;
  /// Verifies the chunk's texts; returns their size in bytes.
  std::uint64_t verify_texts(std::size_t chunk, ChunkBuffers& buffers) const;
  /// Returns the chunk's part of the manifest's counts.
  CollectionCounts verify_chunk(std::size_t chunk, ChunkBuffers& buffers) const;
  void verify_split(const SplitDocument& split, ChunkBuffers& buffers) const;

  std::vector<Part> parts_;
  std::string name_;
  CollectionManifest manifest_;
  std::shared_ptr<const JoinedLexicon> joined_;  ///< if there are several parts
  std::vector<ChunkRow> rows_;
  std::vector<docid_t> first_documents_;
  std::vector<SplitDocument> split_documents_;
};

}  // namespace quern
