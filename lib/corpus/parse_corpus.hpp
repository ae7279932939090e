#pragma once
#include "quern/corpus/chunk_builder.hpp"
#include "quern/corpus/corpus_files.hpp"
#include "quern/corpus/corpus_reader.hpp"
#include "quern/formats/manifest_settings.hpp"
#include "quern/io/checksum.hpp"
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
  bool may_be_empty = false;  ///< a split of a corpus may have no document: warn only
  PageChoice pages;           ///< of crawls
  bool store_text = false;    ///< store the documents' texts
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
  std::string first_repaired;              ///< "file: byte offset: document 'docno'", if any has invalid UTF-8
  std::vector<std::string> bad_documents;  ///< "file:offset: reason" of the first hundred
  std::vector<std::string> formats;        ///< formats of the corpus
  std::uint64_t num_files = 0;             ///< files of the corpus
  std::uint64_t num_skipped_files = 0;     ///< files of folders that fit no format
  std::vector<SkippedFile> skipped_files;  ///< the first hundred of them
  std::uint64_t num_passed_over = 0;       ///< pipes, sockets and devices in folders
  std::vector<std::string> passed_over;    ///< the first hundred of them that were found
};

/// Parses a corpus into a collection file, in parallel, within the memory budget. The bytes written depend only on
/// corpus and options. Throws InvalidArgument if there is nothing to index or options contradict each other, and
/// whatever the readers throw.
ParseReport parse_corpus(const ParseOptions& options, const Resources& resources, File& out);

/// A set of digests, as 95 bits of their hashes, in open-addressing tables of 12 bytes per slot. It has 64 tables that
/// grow one by one, each by a quarter, so that growing takes little additional memory.
class DigestSet {
 public:
  /// Never takes more than `max_bytes`, not even while growing.
  explicit DigestSet(std::uint64_t max_bytes);

  enum class Added {
    yes,
    was_there,
    no_room  ///< would exceed the memory limit
  };
  Added add(const Hash128& digest);

  std::uint64_t count() const { return count_; }
  /// The maximum memory of a set of `count` digests.
  static std::uint64_t bytes_for(std::uint64_t count) { return count * 18 + (std::uint64_t{64} << 10); }

 private:
  /// Three words of the hash; the last one is odd, or zero in a free slot.
  struct Place {
    std::array<std::uint32_t, 3> words{};
    bool operator==(const Place&) const = default;
  };
  struct Table {
    std::vector<Place> places;
    std::size_t used = 0;
  };
  static Place* find(std::vector<Place>& places, const Place& sought);
  bool grow(Table& table);

  std::uint64_t left_bytes_;
  std::uint64_t count_ = 0;
  std::array<Table, 64> tables_;
};

/// Chooses pages of a crawl by language and payload, in corpus order, before they are parsed; the choice depends only
/// on the corpus. Reads only headers, so one thread suffices.
class PageChooser {
 public:
  /// Remembers payloads within `memory_bytes`.
  PageChooser(const PageChoice& choice, std::uint64_t memory_bytes) : choice_(choice), payloads_(memory_bytes) {}

  /// Whether any choice is to be made.
  bool chooses() const { return !choice_.languages.empty() || choice_.drop_copies; }
  /// Marks the records of the batch that are left out. `next` is the following batch, null at the corpus's end: a later
  /// record may state a page's language. False if the payloads don't fit in the memory.
  bool choose(RecordBatch& batch, const RecordBatch* next);
  /// Number of distinct payloads of pages that stayed.
  std::uint64_t payloads() const { return payloads_.count(); }

 private:
  void read_labels(const RecordBatch& batch, const RecordBatch* next);
  /// The language of record `page`, from itself or from one of the next records.
  const std::string& language_of(std::size_t page) const;
  LeftOut by_language(std::size_t page) const;

  PageChoice choice_;
  DigestSet payloads_;
  std::vector<RecordLabels> labels_;  ///< of the batch's records, and of later ones that may describe them
};

}  // namespace quern
