#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "quern/core/resources.hpp"
#include "quern/corpus/chunk_stream.hpp"
#include "quern/corpus/corpus_files.hpp"
#include "quern/formats/corpus/corpus_format.hpp"
#include "quern/io/byte_source.hpp"

namespace quern {

struct CorpusOptions {
  /// A name that corpus_format_named() knows, or "auto": detected from the content, file by file.
  std::string format = "auto";
  /// Larger records are skipped and counted as bad. From 1 to largest_max_document.
  std::uint64_t max_document_bytes = std::uint64_t{64} << 20;
  static constexpr std::uint64_t largest_max_document = std::uint64_t{4} << 30;
  /// Goes on where it can: behind damaged members of gzip files, and without files of no known format. Each damaged
  /// member counts as bad, with the last record that it has to do with.
  bool skip_bad = false;
  /// Of JSON objects.
  FieldNames field_names;
  /// A batch ends after the record with which it has at least this many bytes of the corpus.
  std::uint64_t batch_bytes = std::uint64_t{2} << 20;
  /// It ends earlier with so many records, good or bad: these take memory however short they are.
  std::size_t batch_records = std::size_t{1} << 16;
  /// Larger records wait in work files. Changes nothing else; tests lower it.
  std::size_t max_in_memory = RecordText::max_in_memory;
};

/// Why a record is left out before it is parsed.
enum class LeftOut : std::uint8_t {
  no,
  other_language,
  no_language,  ///< it says none
  copy          ///< an earlier one has the same payload
};

/// A record: bytes [begin, begin + size) of its batch, or a spool of it.
struct RecordSpan {
  static constexpr std::size_t no_spool = ~std::size_t{0};

  std::size_t begin = 0;
  std::uint64_t size = 0;
  std::size_t spool = no_spool;   ///< its number in the batch
  std::uint32_t file = 0;         ///< for CorpusReader::file_name()
  std::uint64_t file_offset = 0;  ///< in the decompressed file
  const CorpusFormat* format = nullptr;
  LeftOut left_out = LeftOut::no;
};

/// A piece of a corpus that can't be read.
struct BadRecord {
  std::uint32_t file = 0;
  std::uint64_t file_offset = 0;  ///< in the decompressed file
  const char* reason = nullptr;
  bool in_stored_file = false;  ///< the offset is in the file as it is stored
};

/// Some records of a corpus, in its order, not parsed yet.
struct RecordBatch {
  std::string bytes;
  std::vector<Spool> spools;  ///< each holds a large record
  std::vector<RecordSpan> records;
  /// Found while splitting: too large ones, and what belongs to no record.
  std::vector<BadRecord> bad;
  /// Stored (compressed) bytes of the corpus that were read for this batch: for progress.
  std::uint64_t compressed_bytes = 0;

  /// Valid as long as the batch stays as it is.
  RecordText text(const RecordSpan& record) const {
    if (record.spool != RecordSpan::no_spool) return RecordText(spools[record.spool]);
    return RecordText(std::string_view(bytes).substr(record.begin, record.size));
  }
};

/// Reads all files of a corpus and returns batches of records for parallel parsing. A thread of its own reads ahead
/// and decompresses. The batches depend on the corpus and the options alone, never on timing or resources.
class CorpusReader : private LookAhead {
 public:
  /// Of `resources`, the memory bounds the windows of zstd files, and the folder is for large records. Throws
  /// InvalidArgument if the format's name is unknown or an option is out of its range.
  CorpusReader(CorpusFiles files, CorpusOptions options, const Resources& resources);
  ~CorpusReader() override;

  /// Replaces `batch` by the next records, reusing its memory; false at the end of the corpus. A batch may have bad
  /// records only, or none at all. It takes batch_bytes, max_in_memory, a few chunks and 100 bytes per record of memory
  /// at most, whatever its records. Throws CorruptFile and IoError as ByteSource does, and InvalidArgument if no format
  /// fits a file that was named itself.
  bool next(RecordBatch& batch);

  const CorpusFiles& files() const { return files_; }
  /// Its path, or "standard input".
  std::string file_name(std::uint32_t file) const;
  /// The first max_named of the files without any byte but white space, of those met so far.
  const std::vector<std::string>& empty_files() const { return empty_files_; }
  /// Names of the formats of the files met so far, each once.
  const std::vector<std::string>& formats() const { return formats_; }
  /// Number of files of folders that no format fits, met so far, and the first max_named of them. A file that was named
  /// itself is an error instead.
  std::uint64_t num_skipped_files() const { return num_skipped_files_; }
  const std::vector<std::string>& skipped_files() const { return skipped_files_; }

  static constexpr std::size_t max_named = 100;

 private:
  bool read_more(RecordBatch& batch);
  /// Begins with a file, or where it `goes_on` behind damage.
  void begin_segment(RecordBatch& batch, bool goes_on);
  /// Null if the file is to be skipped.
  const CorpusFormat* format_of_file(std::string_view head) const;
  void begin_records();
  void note_damage(RecordBatch& batch) const;
  /// Whether a record that ends there, in bytes of the file, is the last one before damage, and not sound.
  bool is_damaged(std::uint64_t end);
  /// Cuts such a record to its bytes of sound members: all of it where a few wrong bytes hide its end. False if it has
  /// none.
  bool cut_to_sound(RecordFinder::Found& found, const RecordBatch& batch) const;
  void take(const RecordFinder::Found& found, RecordBatch& batch);
  void take_record(RecordFinder::Found found, RecordBatch& batch);
  /// Appends the file's bytes from window[begin] on to the open record's spool; they may end behind the window.
  void set_aside(std::size_t begin, std::uint64_t size, RecordBatch& batch);
  void advance(std::size_t consumed) { window_begin_ += consumed, window_offset_ += consumed; }
  std::string_view window(const RecordBatch& batch) const {
    return std::string_view(batch.bytes).substr(window_begin_);
  }
  /// Up to where the file is done with: a record of which parts are set aside is not.
  std::uint64_t done_offset() const { return aside_ ? aside_offset_ : window_offset_; }
  std::string peek(std::uint64_t offset, std::size_t size) override;

  CorpusOptions options_;
  std::string tmp_folder_;
  const CorpusFormat* given_format_ = nullptr;
  CorpusFiles files_;
  std::vector<std::string> empty_files_, skipped_files_, formats_;
  std::uint64_t num_skipped_files_ = 0;

  std::unique_ptr<FileBytes> file_bytes_;
  const CorpusFormat* format_ = nullptr;  ///< of the file at hand
  std::unique_ptr<RecordFinder> finder_;  ///< null between files
  std::string* window_bytes_ = nullptr;   ///< of the batch at hand
  std::size_t window_begin_ = 0;          ///< of the bytes not consumed yet, in the batch
  std::uint64_t window_offset_ = 0;       ///< their place in the file
  std::uint64_t segment_offset_ = 0;      ///< that of the segment at hand
  bool has_format_ = false;               ///< whether the file at hand was looked at
  std::string carry_;                     ///< read, but of the next batch
  std::optional<Spool> aside_;            ///< parts of a large record
  std::uint64_t aside_offset_ = 0;        ///< that record's place in the file
};

/// Cuts a file of a corpus, which is not compressed, into ranges of whole records, of about as many bytes: `count`, or
/// fewer where there are fewer records. The documents of all ranges are those of the file, in their order. Reads the
/// file once; what its records say is not looked at. `options`: as the ranges will be parsed with. Throws
/// InvalidArgument if it is no such file, holds no record, or no format fits it; IoError.
std::vector<FileRange> find_ranges(const std::string& path, std::size_t count, const CorpusOptions& options,
                                   const Resources& resources);

}  // namespace quern
