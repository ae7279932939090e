#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "quern/collection/term_table.hpp"
#include "quern/corpus/corpus_reader.hpp"
#include "quern/formats/collection.hpp"
#include "quern/io/checksum.hpp"
#include "quern/text/analyzer.hpp"

namespace quern {

/// A record that could not be used: its place and the reason.
struct BadDocument {
  std::uint32_t file = 0;
  std::uint64_t offset = 0;
  std::string reason;
};

/// What one batch of records became.
struct ParsedChunk {
  PackedChunk packed;
  TermTable terms;                ///< numbered as in the forward lists
  std::vector<std::uint32_t> df;  ///< of each term, over title and body
  std::vector<std::uint64_t> cf;
  std::vector<Hash128> docno_hashes;  ///< of each document
  std::vector<BadDocument> bad;
  std::uint64_t records = 0, skipped = 0, empty = 0, links = 0, without_url = 0;
  std::uint64_t repaired_utf8 = 0, cut_terms = 0;
  std::uint64_t input_hash = 0;  ///< over the records' bytes
  std::uint64_t bytes = 0, compressed_bytes = 0;

  void clear();
};

/// Turns batches of records into chunks: parses, extracts text, cuts it into tokens, numbers terms. One per thread.
class ChunkBuilder {
 public:
  ChunkBuilder(const AnalyzerOptions& options, std::uint64_t max_document_bytes) : analyzer_(options) {
    scratch_.max_document_bytes = max_document_bytes;
  }
  void build(const RecordBatch& batch, ParsedChunk& chunk);

 private:
  void add_document(ParsedChunk& chunk);
  void add_stream(PieceSource& text, bool counted, ParsedChunk& chunk);

  Analyzer analyzer_;
  RecordScratch scratch_;
  DocumentText document_;
  ZstdCompressor zstd_{1};
  ChunkEncoder encoder_;
  std::vector<std::uint32_t> last_document_;  ///< of each term, + 1: counts df
  std::uint32_t tokens_ = 0;                  ///< of the document at hand
};

}  // namespace quern
