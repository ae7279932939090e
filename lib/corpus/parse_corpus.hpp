#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "quern/core/resources.hpp"
#include "quern/corpus/chunk_builder.hpp"
#include "quern/corpus/corpus_files.hpp"
#include "quern/corpus/corpus_reader.hpp"
#include "quern/formats/manifest_settings.hpp"
#include "quern/io/file.hpp"
#include "quern/text/analyzer.hpp"

namespace quern {

struct ParseOptions {
  std::vector<std::string> corpus;       ///< files, folders, or "-"
  std::shared_ptr<const FileList> list;  ///< what names them instead; null: nothing
  FileChoice files;                      ///< of the folders
  std::optional<FileRange> range;        ///< what is read of the only file; nothing: all
  std::shared_ptr<ByteSource> source;    ///< a corpus that a program hands over instead; null: none
  CorpusOptions reader;
  AnalyzerOptions analyzer;
  /// The run fails if there are more bad documents, unless reader.skip_bad.
  std::uint64_t max_errors = 1000;
  Duplicates duplicates = Duplicates::keep;
  PageChoice pages;         ///< of crawls
  bool store_text = false;  ///< keep the documents' texts
  /// If the corpus gives the weights of terms: what becomes of them. Texts are not analyzed then.
  std::optional<ImpactSettings> impacts = std::nullopt;
  /// Part of the format: other limits make other chunks. For tests.
  ChunkLimits chunk_limits;
};

/// What parsing found.
struct ParseReport {
  std::uint64_t read = 0;     ///< records of any kind
  std::uint64_t indexed = 0;  ///< documents, empty ones included
  std::uint64_t empty = 0;    ///< documents without a token
  std::uint64_t skipped = 0;  ///< records that are not documents
  std::uint64_t bad = 0;
  std::uint64_t other_language = 0;  ///< pages that were left out as their language is none of those chosen
  std::uint64_t no_language = 0;     ///< that were left out as their language is not said
  std::uint64_t copies = 0;          ///< that were left out as an earlier one has the same payload
  std::uint64_t duplicates = 0;      ///< documents whose docno an earlier one has
  std::uint64_t repaired_utf8 = 0, cut_terms = 0;
  std::uint64_t bytes = 0;  ///< of records, decompressed
  std::uint64_t terms = 0, tokens = 0, postings = 0, links = 0;
  std::uint64_t text_bytes = 0;            ///< of the texts that are kept, before compression
  std::vector<std::string> bad_documents;  ///< "file:offset: reason" of the first hundred
  std::vector<std::string> formats;        ///< that the corpus has
  std::uint64_t num_skipped_files = 0;     ///< of folders, which no corpus format fits
  std::vector<std::string> skipped_files;  ///< the first hundred of them
  std::uint64_t num_passed_over = 0;       ///< pipes, sockets and devices in folders
  std::vector<std::string> passed_over;    ///< the first hundred of them that were found
};

/// Parses a corpus into a collection file, in parallel, within the memory budget. The bytes written depend on corpus
/// and options alone. Throws InvalidArgument if there is nothing to index, or options contradict each other, and what
/// the readers throw.
ParseReport parse_corpus(const ParseOptions& options, const Resources& resources, File& out);

}  // namespace quern
