#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "quern/corpus/chunk_stream.hpp"
#include "quern/corpus/corpus_files.hpp"
#include "quern/formats/corpus/corpus_format.hpp"

namespace quern {

struct CorpusOptions {
  /// A name that corpus_format_named() knows, or "auto": detected from the content, file by file.
  std::string format = "auto";
  /// Larger records are skipped and counted as bad.
  std::uint64_t max_document_bytes = std::uint64_t{64} << 20;
  /// A batch ends after the record with which it has at least this many bytes of the corpus.
  std::uint64_t batch_bytes = std::uint64_t{2} << 20;
};

/// A record: bytes [begin, begin + size) of its batch.
struct RecordSpan {
  std::size_t begin = 0;
  std::size_t size = 0;
  std::uint32_t file = 0;         ///< for CorpusReader::file_name()
  std::uint64_t file_offset = 0;  ///< in the decompressed file
  const CorpusFormat* format = nullptr;
};

/// A piece of a corpus that can't be read.
struct BadRecord {
  std::uint32_t file = 0;
  std::uint64_t file_offset = 0;  ///< in the decompressed file
  std::string reason;
};

/// Some records of a corpus, in its order, not parsed yet.
struct RecordBatch {
  std::string bytes;
  std::vector<RecordSpan> records;
  /// Found while splitting: too large ones, and what belongs to no record.
  std::vector<BadRecord> bad;
  /// Stored (compressed) bytes of the corpus that were read for this batch: for progress.
  std::uint64_t compressed_bytes = 0;

  std::string_view text(const RecordSpan& record) const {
    return std::string_view(bytes).substr(record.begin, record.size);
  }
};

/// Reads all files of a corpus and returns batches of records for parallel parsing. A thread of its own reads ahead
/// and decompresses. The batches depend on the corpus and the options alone, never on timing.
class CorpusReader {
 public:
  /// Throws InvalidArgument if the format's name is unknown or an option is out of its range.
  CorpusReader(std::vector<CorpusFile> files, CorpusOptions options);
  ~CorpusReader();

  /// Replaces `batch` by the next records, reusing its memory; false at the end of the corpus. A batch may have bad
  /// records only, or none at all, and is as large as its largest record asks for. Throws CorruptFile and IoError as
  /// ByteSource does, and InvalidArgument if no format fits a file that was named itself.
  bool next(RecordBatch& batch);

  const std::string& file_name(std::uint32_t file) const { return names_[file]; }
  /// Files without any byte but white space, met so far.
  const std::vector<std::string>& empty_files() const { return empty_files_; }
  /// Files of folders that no format fits, met so far. A file that was named itself is an error instead.
  const std::vector<std::string>& skipped_files() const { return skipped_files_; }

 private:
  bool read_chunk(RecordBatch& batch);
  void reserve(std::string& bytes, std::size_t more_bytes) const;
  void begin_file(RecordBatch& batch);
  /// Null if the file is to be skipped.
  const CorpusFormat* format_of_file(std::string_view head) const;
  void take(const RecordFinder::Found& found, RecordBatch& batch);
  void advance(std::size_t consumed) { window_begin_ += consumed, window_offset_ += consumed; }

  CorpusOptions options_;
  const CorpusFormat* given_format_ = nullptr;
  std::vector<std::string> names_;
  std::vector<bool> found_in_folder_;  ///< of each file
  std::vector<std::string> empty_files_, skipped_files_;

  std::unique_ptr<ChunkStream> chunks_;
  Chunk chunk_;
  const CorpusFormat* format_ = nullptr;  ///< of the file at hand
  std::unique_ptr<RecordFinder> finder_;  ///< null between files
  std::uint32_t file_ = 0;
  bool file_is_read_ = false;
  std::size_t window_begin_ = 0;     ///< of the bytes not consumed yet, in the batch
  std::uint64_t window_offset_ = 0;  ///< their place in the file
  std::string carry_;                ///< read, but of the next batch
};

}  // namespace quern
