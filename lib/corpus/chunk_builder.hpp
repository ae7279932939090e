#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "quern/corpus/corpus_reader.hpp"
#include "quern/corpus/term_table.hpp"
#include "quern/formats/collection.hpp"
#include "quern/io/checksum.hpp"
#include "quern/text/analyzer.hpp"
#include "quern/text/text_lines.hpp"

namespace quern {

/// A record that could not be used, or not all of it: its place and the reason.
struct BadDocument {
  std::uint32_t file = 0;
  std::uint64_t offset = 0;
  std::string reason;
  bool needs_options = false;   ///< as ParsedRecord has it
  bool in_stored_file = false;  ///< as BadRecord has it
};

/// What parsing found in one batch of records.
struct ParsedBatch {
  std::vector<BadDocument> bad;
  std::uint64_t remarked = 0;  ///< documents of which the user may miss something
  BadDocument remark;          ///< the first of them, and what it is
  std::uint64_t records = 0, skipped = 0, empty = 0, links = 0, without_url = 0;
  std::uint64_t other_language = 0, no_language = 0, copies = 0;  ///< records that were left out
  std::uint64_t text_bytes = 0;                                   ///< of the texts that are kept
  std::uint64_t repaired_utf8 = 0, cut_terms = 0;
  std::uint64_t input_hash = 0;  ///< the sum of the records' XXH3-64, modulo 2^64
  std::uint64_t bytes = 0, compressed_bytes = 0;
};

/// A chunk of the collection: a batch makes one, or several if its documents are large.
struct ParsedChunk {
  PackedChunk packed;
  TermTable terms;                ///< numbered as in the forward lists
  std::vector<std::uint32_t> df;  ///< of each term, over title and body
  std::vector<std::uint64_t> cf;
  /// Terms in title or body of the first document if it began in the chunk before, and of the last if it goes on.
  std::vector<std::uint32_t> in_continued, in_unfinished;
  bool is_continued = false;          ///< the first document began in the chunk before
  std::vector<Hash128> docno_hashes;  ///< of each document that ends here

  void clear();
  /// What it takes in memory, about.
  std::uint64_t memory_bytes() const;
};

/// A chunk ends when it has this much, in the middle of a document if necessary: memory must not grow with documents,
/// neither here nor in those who read chunks. A batch of ordinary documents stays below.
struct ChunkLimits {
  std::uint32_t terms = std::uint32_t{1} << 17;  ///< distinct ones
  std::size_t bytes = std::size_t{4} << 20;      ///< before compression; of the distinct terms; of kept texts
};

/// Turns batches of records into chunks: parses, extracts text, cuts it into tokens, numbers terms. One per thread.
class ChunkBuilder {
 public:
  /// Large texts wait in work files in `tmp_folder`. With `store_text` chunks keep the documents' texts. With `impacts`
  /// the corpus gives the weights of terms, and texts are not analyzed.
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

  /// Takes a finished chunk, which it may move from; false if it takes no more.
  using TakeChunk = std::function<bool(ParsedChunk&)>;
  /// Builds the batch's chunks, one after another, and replaces `parsed`. False if `take` refused one: what it took of
  /// this batch is to be forgotten.
  bool build(const RecordBatch& batch, ParsedBatch& parsed, const TakeChunk& take);

 private:
  void add_record(const RecordBatch& batch, const RecordSpan& record, ParsedBatch& parsed, const TakeChunk& take);
  void add_document(ParsedBatch& parsed, const TakeChunk& take);
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
  /// The term's number in the chunk, which it may end before.
  std::uint32_t number_of(const TermKey& key, const TakeChunk& take);
  /// Counts a term so many times for the document at hand.
  void count(std::uint32_t term, std::uint32_t occurrences);
  /// A token of the stream at hand, or where its size is 0 the end of a phrase.
  struct WaitingToken {
    std::array<std::uint64_t, 2> front;
    std::uint64_t hash;
    std::size_t size;
  };
  /// How often the chunk's documents have a term.
  struct TermCounts {
    std::uint64_t cf = 0;
    std::uint32_t df = 0;
    std::uint32_t last_document = 0;  ///< the last one that has it, + 1
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
  std::vector<TermCounts> counts_;  ///< of each term
  std::uint32_t tokens_ = 0;        ///< of the document at hand; or the sum of its weights
  std::uint64_t text_bytes_ = 0;    ///< of the batch's documents
  TextLines lines_;                 ///< of the document at hand
  std::string line_bytes_;          ///< the next bytes of its text
};

}  // namespace quern
