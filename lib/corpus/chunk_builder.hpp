#pragma once
#include "quern/corpus/corpus_reader.hpp"
#include "quern/corpus/lexicon_builder.hpp"
#include "quern/formats/collection.hpp"
#include "quern/io/checksum.hpp"
#include "quern/text/analyzer.hpp"
#include "quern/text/text_block.hpp"

namespace quern {

/// A record that could not be used, or only in part: its place and the reason.
struct BadDocument {
  std::uint32_t file = 0;
  std::uint64_t offset = 0;
  std::string reason;
  bool needs_options = false;   ///< as in ParsedRecord
  bool in_stored_file = false;  ///< as in BadRecord
};

/// The results of parsing one batch of records.
struct ParsedBatch {
  std::vector<BadDocument> bad;
  std::uint64_t remarked = 0;  ///< documents whose text has no known name
  BadDocument remark;          ///< the first of them, with what became of it
  BadDocument first_empty;     ///< the first document without a token, with what it has instead
  std::uint64_t cut = 0;       ///< documents within which their file ends
  BadDocument first_cut;       ///< the first of them
  BadDocument first_skipped;   ///< the first record that isn't a document
  BadDocument first_repaired;  ///< the first document with invalid UTF-8
  std::uint64_t records = 0, skipped = 0, empty = 0, links = 0, without_url = 0, title_tokens = 0;
  std::uint64_t other_language = 0, no_language = 0, copies = 0;  ///< records left out
  std::uint64_t text_bytes = 0;                                   ///< of stored texts
  std::uint64_t repaired_utf8 = 0, cut_terms = 0;
  std::uint64_t input_hash = 0;  ///< the sum of the records' XXH3-64, modulo 2^64
  std::uint64_t bytes = 0, compressed_bytes = 0;
};

/// A chunk of the collection. A batch makes one chunk, or several if its documents are large.
struct ParsedChunk {
  PackedChunk packed;
  TermTable terms;                ///< numbered as in the forward lists
  std::vector<std::uint32_t> df;  ///< of each term, over title and body
  std::vector<std::uint64_t> cf;
  /// Terms in title or body of the first document if it continues from the previous chunk, and of the last document if
  /// it continues in the next.
  std::vector<std::uint32_t> in_continued, in_unfinished;
  bool is_continued = false;          ///< the first document continues from the previous chunk
  std::vector<Hash128> docno_hashes;  ///< of each document that ends here

  void clear();
  /// Its approximate memory.
  std::uint64_t memory_bytes() const;
};

/// A chunk ends when it reaches one of these limits, even within a document: memory must not grow with documents, here
/// and in readers of chunks. A batch of ordinary documents stays below them.
struct ChunkLimits {
  std::uint32_t terms = std::uint32_t{1} << 17;  ///< distinct terms
  std::size_t bytes = std::size_t{4} << 20;      ///< limit for each: uncompressed bytes, distinct terms, stored texts
};

/// Turns batches of records into chunks: parses, extracts text, tokenizes, numbers terms. Create one per thread.
class ChunkBuilder {
 public:
  /// Large texts go to work files in `tmp_folder`. With `store_text` chunks store the documents' texts. With `impacts`
  /// the corpus supplies term weights, and texts are not analyzed.
  ChunkBuilder(const AnalyzerOptions& options, const CorpusOptions& reader, const std::string& tmp_folder,
               ChunkLimits limits = {}, bool store_text = false, std::optional<ImpactSettings> impacts = {})
      : analyzer_(options),
        limits_(limits),
        store_text_(store_text),
        document_(tmp_folder),
        encoder_(store_text, reader.field_names.kept.size()) {
    scratch_.max_document_bytes = reader.max_document_bytes;
    scratch_.json_keys = JsonKeys(reader.field_names, impacts.has_value());
    scratch_.impacts = impacts;
    scratch_.tmp_folder = tmp_folder;
  }

  /// Receives a finished chunk, which it may move from; returns false to refuse it.
  using TakeChunk = std::function<bool(ParsedChunk&)>;
  /// Builds the batch's chunks in order and replaces `parsed`. False if `take` refused one: discard the chunks that it
  /// took of this batch.
  bool build(const RecordBatch& batch, ParsedBatch& parsed, const TakeChunk& take);

 private:
  void add_record(const RecordBatch& batch, const RecordSpan& record, ParsedBatch& parsed, const TakeChunk& take);
  void add_document(ParsedBatch& parsed, const TakeChunk& take);
  std::string why_empty(const CorpusFormat& format, const RecordText& record) const;
  void add_stream(PieceSource& text, bool counted, const TakeChunk& take);
  void add_kept_stream(PieceSource& text, const TakeChunk& take);
  void keep_text(PieceSource& text, const TakeChunk& take);
  void add_texts(const TakeChunk& take);
  void add_weights(const TakeChunk& take);
  void add_title_and_body(const TakeChunk& take);
  void put_line_bytes(const TakeChunk& take);
  void add_token(std::string_view token, bool counted, const TakeChunk& take);
  void add_phrase_end(bool counted, const TakeChunk& take);
  void add_waiting(bool counted, const TakeChunk& take);
  void add_term(const TermKey& key, bool counted, const TakeChunk& take);
  /// The term's number in the chunk; may end the chunk first.
  std::uint32_t number_of(const TermKey& key, const TakeChunk& take);
  /// Counts `occurrences` of a term in the current document.
  void count(std::uint32_t term, std::uint32_t occurrences);
  /// A token of the current stream; size 0 means a phrase end.
  struct WaitingToken {
    std::array<std::uint64_t, 2> prefix;
    std::uint64_t hash;
    std::size_t size;
  };
  /// Frequencies of a term in the chunk's documents.
  struct TermCounts {
    std::uint64_t cf = 0;
    std::uint32_t df = 0;
    std::uint32_t last_document = 0;  ///< the last document with the term, + 1
  };
  bool is_full() const {
    return chunk_.terms.size() >= limits_.terms || chunk_.terms.term_bytes() >= limits_.bytes ||
           encoder_.bytes() >= limits_.bytes || encoder_.text_bytes() >= limits_.bytes;
  }
  void end_chunk(const TakeChunk& take);

  Analyzer analyzer_;
  ChunkLimits limits_;
  bool store_text_;
  RecordScratch scratch_;
  DocumentText document_;
  ZstdCompressor zstd_{1};
  ChunkEncoder encoder_;
  ParsedChunk chunk_;
  std::uint64_t input_hash_ = 0;  ///< of the batch so far
  std::array<WaitingToken, 32> waiting_;
  std::size_t num_waiting_ = 0;
  std::vector<TermCounts> counts_;                   ///< of each term
  std::uint32_t tokens_ = 0;                         ///< tokens of the current document, or the sum of its weights
  std::uint64_t text_bytes_ = 0, title_tokens_ = 0;  ///< of the batch's documents
  TextLines lines_;                                  ///< of the current document
  std::string line_bytes_;                           ///< pending bytes of its text
};

}  // namespace quern
