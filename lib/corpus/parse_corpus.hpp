#pragma once
#include "quern/corpus/chunk_builder.hpp"
#include "quern/corpus/corpus_files.hpp"
#include "quern/corpus/corpus_reader.hpp"
#include "quern/formats/manifest_settings.hpp"
#include "quern/io/file.hpp"
#include "quern/text/analyzer.hpp"

namespace quern {

struct ParseOptions {
  std::vector<std::string> corpus;       ///< files, folders, or "-"
  std::shared_ptr<const FileList> list;  ///< names them instead; null if unused
  FileChoice files;                      ///< selects files of folders
  std::optional<FileRange> range;        ///< range of the only file; empty: all of it
  std::shared_ptr<ByteSource> source;    ///< supplies the corpus instead; null if unused
  CorpusOptions reader;
  AnalyzerOptions analyzer;
  /// Parsing fails if there are more bad documents, unless reader.skip_bad.
  std::uint64_t max_errors = 1000;
  Duplicates duplicates = Duplicates::keep;
  PageChoice pages;         ///< of crawls
  bool store_text = false;  ///< store the documents' texts
  /// Set if the corpus supplies term weights: how to quantize them. Texts are not analyzed then.
  std::optional<ImpactSettings> impacts = std::nullopt;
  /// Part of the format: other limits give other chunks. Set only by tests.
  ChunkLimits chunk_limits;
};

/// Statistics of a parsed corpus.
struct ParseReport {
  std::uint64_t read = 0;     ///< records of any kind
  std::uint64_t indexed = 0;  ///< documents, including empty ones
  std::uint64_t empty = 0;    ///< documents without a token
  std::uint64_t skipped = 0;  ///< records that are not documents
  std::uint64_t bad = 0;
  std::uint64_t other_language = 0;  ///< pages left out for their language
  std::uint64_t no_language = 0;     ///< pages left out without a stated language
  std::uint64_t copies = 0;          ///< pages left out as copies of an earlier payload
  std::uint64_t duplicates = 0;      ///< documents with the docno of an earlier one
  std::uint64_t repaired_utf8 = 0, cut_terms = 0;
  std::uint64_t bytes = 0;  ///< of records, decompressed
  std::uint64_t terms = 0, tokens = 0, postings = 0, links = 0;
  std::uint64_t text_bytes = 0;            ///< of stored texts, before compression
  std::vector<std::string> bad_documents;  ///< "file:offset: reason" of the first hundred
  std::vector<std::string> formats;        ///< formats of the corpus
  std::uint64_t num_skipped_files = 0;     ///< files of folders that fit no format
  std::vector<std::string> skipped_files;  ///< the first hundred of them
  std::uint64_t num_passed_over = 0;       ///< pipes, sockets and devices in folders
  std::vector<std::string> passed_over;    ///< the first hundred of them that were found
};

/// Parses a corpus into a collection file, in parallel, within the memory budget. The bytes written depend only on
/// corpus and options. Throws InvalidArgument if there is nothing to index or options contradict each other, and
/// whatever the readers throw.
ParseReport parse_corpus(const ParseOptions& options, const Resources& resources, File& out);

}  // namespace quern
