#pragma once
#include <condition_variable>
#include <exception>
#include <mutex>
#include <set>
#include <thread>

#include "quern/corpus/corpus_files.hpp"
#include "quern/formats/corpus/corpus_format.hpp"
#include "quern/io/byte_source.hpp"
#include "quern/io/spool.hpp"

namespace quern {

/// What to do about a damaged member of a gzip file.
enum class Damage {
  refuse,  ///< throw an error
  skip     ///< continue with the next member
};

/// Consecutive decompressed bytes of a file: chunk_bytes of them, except in the last chunk of a segment, which may be
/// shorter or empty. Damage ends a segment; an undamaged file is one segment.
struct Chunk {
  std::string bytes;
  std::uint32_t file = 0;
  bool last_of_file = false;
  std::optional<GzipDamage> damage;    ///< damage right after these bytes
  std::uint64_t compressed_bytes = 0;  ///< stored bytes read for this chunk
};

/// The chunks of all files in order. One thread reads ahead and decompresses into a few buffers.
class ChunkStream {
 public:
  /// `files` must outlive the stream; `max_window_bytes` as in ByteSource::open(); the folder is for work files.
  ChunkStream(const CorpusFiles& files, std::uint64_t max_window_bytes, Damage damage, std::string tmp_folder);
  /// Stops the thread, even if it waits for input.
  ~ChunkStream();

  /// Replaces `chunk`, reusing its memory; false at the end of the last file. Rethrows errors of the reading thread.
  bool next(Chunk& chunk);

  static constexpr std::size_t chunk_bytes = 256 << 10;

 private:
  void run();
  void read_file(std::uint32_t file);
  /// Queues a chunk and replaces it by a used one; false if the stream is stopping.
  bool put(Chunk& chunk);

  static constexpr std::size_t max_ready = 4;

  const CorpusFiles& files_;
  std::uint64_t max_window_bytes_;
  Damage damage_;
  std::string tmp_folder_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Chunk> ready_;  ///< oldest first
  std::vector<Chunk> used_;
  bool done_ = false;
  bool stopped_ = false;
  std::exception_ptr failure_;
  ReadInterrupt interrupt_;
  std::thread thread_;
};

/// The bytes of a corpus's files, one file after another. Bytes that peek() reads ahead wait in a work file.
class FileBytes {
 public:
  /// `files` must outlive the object.
  FileBytes(const CorpusFiles& files, std::uint64_t max_window_bytes, Damage damage, std::string tmp_folder);

  /// Appends the next bytes of the current segment to `window`; at its end, the first bytes of the next segment or
  /// file. False at the end of the last file. Rethrows reading errors.
  bool next(std::string& window);
  /// The number of the current file.
  std::uint32_t file() const { return chunk_.file; }
  /// Whether the current segment is consumed.
  bool segment_is_read() const { return segment_is_seen() && waiting_bytes() == 0; }
  /// Whether the segment's end was read, if only by peek(). damage() is the damage there, unless the file ends.
  bool segment_is_seen() const { return chunk_.last_of_file || chunk_.damage; }
  const std::optional<GzipDamage>& damage() const { return chunk_.damage; }

  /// Up to `size` bytes of the current segment, `distance` bytes past those consumed; fewer at its end.
  std::string peek(std::uint64_t distance, std::size_t size);
  /// Consumes the next `size` bytes of the current segment and appends them to `to`. That many must be left.
  void move_to(Spool& to, std::uint64_t size);

  /// Stored bytes read since the last call.
  std::uint64_t take_compressed_bytes() { return std::exchange(compressed_bytes_, 0); }

 private:
  bool read_chunk();
  std::uint64_t waiting_bytes() const { return waiting_.size() - waiting_begin_; }
  void drop_waiting(std::uint64_t size);

  std::string tmp_folder_;
  ChunkStream chunks_;
  Chunk chunk_;
  Spool waiting_;  ///< bytes read ahead: those from waiting_begin_ on
  std::uint64_t waiting_begin_ = 0;
  std::uint64_t compressed_bytes_ = 0;
};

struct CorpusOptions {
  /// A name known to corpus_format_named(), or "auto": detected from each file's content.
  std::string format = "auto";
  /// Larger records are skipped and counted as bad. From 1 to largest_max_document.
  std::uint64_t max_document_bytes = std::uint64_t{64} << 20;
  static constexpr std::uint64_t largest_max_document = std::uint64_t{4} << 30;
  /// Continues after damaged members of gzip files, and skips files of unknown formats. Each damaged member counts as
  /// one bad document, together with the last record that it affects.
  bool skip_bad = false;
  /// For JSON objects.
  FieldNames field_names;
  /// A batch ends after the record with which it covers at least this many bytes of the corpus.
  std::uint64_t batch_bytes = std::uint64_t{2} << 20;
  /// A batch also ends after this many records, good or bad, since even short ones take memory.
  std::size_t batch_records = std::size_t{1} << 16;
  /// Larger records go to work files. Affects nothing else; tests lower it.
  std::size_t max_in_memory = RecordText::max_in_memory;
};

/// Why a record is left out before parsing.
enum class LeftOut : std::uint8_t {
  no,
  other_language,
  no_language,  ///< it states none
  copy          ///< an earlier page has the same payload
};

/// A record: bytes [begin, begin + size) of its batch, or a spool.
struct RecordSpan {
  static constexpr std::size_t no_spool = ~std::size_t{0};

  std::size_t begin = 0;
  std::uint64_t size = 0;
  std::size_t spool = no_spool;   ///< index of its spool in the batch
  std::uint32_t file = 0;         ///< for CorpusReader::file_name()
  std::uint64_t file_offset = 0;  ///< in the decompressed file
  const CorpusFormat* format = nullptr;
  std::string_view file_charset = "utf-8";  ///< that the file declares; the name lies in the reader
  LeftOut left_out = LeftOut::no;
  bool is_cut = false;  ///< the file ends within it
};

/// A range of a corpus that can't be read.
struct BadRecord {
  std::uint32_t file = 0;
  std::uint64_t file_offset = 0;  ///< in the decompressed file
  const char* reason = nullptr;
  bool in_stored_file = false;  ///< the offset is in the stored (compressed) file
};

/// Consecutive unparsed records of a corpus.
struct RecordBatch {
  std::string bytes;
  std::vector<Spool> spools;  ///< one per large record
  std::vector<RecordSpan> records;
  /// Found while splitting: records that are too large, and bytes outside of records.
  std::vector<BadRecord> bad;
  /// Stored (compressed) bytes read for this batch, for the progress display.
  std::uint64_t compressed_bytes = 0;

  /// Valid as long as the batch does not change.
  RecordText text(const RecordSpan& record) const {
    if (record.spool != RecordSpan::no_spool) return RecordText(spools[record.spool]);
    return RecordText(std::string_view(bytes).substr(record.begin, record.size));
  }
};

/// A file that fits no format.
struct SkippedFile {
  std::string path;
  std::string why;  ///< from why_no_corpus()
};

/// Reads all files of a corpus and returns batches of records for parallel parsing. A background thread reads ahead and
/// decompresses. The batches depend only on the corpus and the options, not on timing or resources.
class CorpusReader : private LookAhead {
 public:
  /// Uses the memory of `resources` as a bound for zstd windows, and its folder for large records. Throws
  /// InvalidArgument if the format's name is unknown or an option is out of range.
  CorpusReader(CorpusFiles files, CorpusOptions options, const Resources& resources);
  ~CorpusReader() override;

  /// Replaces `batch` by the next records, reusing its memory; false at the end of the corpus. A batch may have only
  /// bad records, or none. It takes at most batch_bytes, max_in_memory, a few chunks and 100 bytes per record of
  /// memory, for any records. Throws CorruptFile and IoError as ByteSource does, and InvalidArgument if no format fits
  /// a file that was named directly.
  bool next(RecordBatch& batch);

  const CorpusFiles& files() const { return files_; }
  /// The file's path, or "standard input".
  std::string file_name(std::uint32_t file) const;
  /// The first max_named files so far that contain only white space.
  const std::vector<std::string>& empty_files() const { return empty_files_; }
  /// Names of the formats met so far, without duplicates.
  const std::vector<std::string>& formats() const { return formats_; }
  /// Number of files of folders met so far that fit no format, and the first max_named of them. A file that was named
  /// directly is an error instead.
  std::uint64_t num_skipped_files() const { return num_skipped_files_; }
  const std::vector<SkippedFile>& skipped_files() const { return skipped_files_; }

  static constexpr std::size_t max_named = 100;

 private:
  bool read_more(RecordBatch& batch);
  /// Starts a file, or continues it after damage (`goes_on`).
  void begin_segment(RecordBatch& batch, bool goes_on);
  /// Null, with why_skipped_ set, if the file must be skipped.
  const CorpusFormat* format_of_file(std::string_view head);
  void begin_records();
  void note_damage(RecordBatch& batch) const;
  /// Whether a record that ends at `end`, in bytes of the file, is the last one before damage and affected by it.
  bool is_damaged(std::uint64_t end);
  /// Truncates such a record to its bytes from intact members (all of it if the damage hides only its end). False if
  /// there are no such bytes.
  bool cut_to_sound(RecordFinder::Found& found, const RecordBatch& batch) const;
  void take(const RecordFinder::Found& found, RecordBatch& batch);
  void take_record(RecordFinder::Found found, RecordBatch& batch);
  /// Appends the file's bytes from window[begin] on to the open record's spool; they may extend past the window.
  void set_aside(std::size_t begin, std::uint64_t size, RecordBatch& batch);
  void advance(std::size_t consumed) { window_begin_ += consumed, window_offset_ += consumed; }
  std::string_view window(const RecordBatch& batch) const {
    return std::string_view(batch.bytes).substr(window_begin_);
  }
  /// Everything before it is consumed; an open record with spooled parts is not.
  std::uint64_t done_offset() const { return aside_ ? aside_offset_ : window_offset_; }
  std::string peek(std::uint64_t offset, std::size_t size) override;

  CorpusOptions options_;
  std::string tmp_folder_;
  const CorpusFormat* given_format_ = nullptr;
  CorpusFiles files_;
  std::vector<std::string> empty_files_, formats_;
  std::vector<SkippedFile> skipped_files_;
  std::string why_skipped_;  ///< the current file
  std::uint64_t num_skipped_files_ = 0;

  std::unique_ptr<FileBytes> file_bytes_;
  const CorpusFormat* format_ = nullptr;  ///< of the current file
  std::string_view charset_;              ///< that the current file declares
  std::set<std::string> charsets_;        ///< all that files declare
  std::unique_ptr<RecordFinder> finder_;  ///< null between files
  std::string* window_bytes_ = nullptr;   ///< of the current batch
  std::size_t window_begin_ = 0;          ///< of the unconsumed bytes, in the batch
  std::uint64_t window_offset_ = 0;       ///< their offset in the file
  std::uint64_t segment_offset_ = 0;      ///< offset of the current segment
  bool has_format_ = false;               ///< the current file's format was detected
  std::string carry_;                     ///< bytes read for the next batch
  std::optional<Spool> aside_;            ///< parts of a large record
  std::uint64_t aside_offset_ = 0;        ///< that record's offset in the file
};

/// Splits an uncompressed file of a corpus into ranges of whole records with about the same number of bytes: `count`,
/// or fewer if there are fewer records. All ranges together have the documents of the file, in order. Reads the file
/// once, without parsing records. `options` must be those of the later parsing. Throws InvalidArgument if the file is
/// not suitable, has no record, or fits no format; IoError.
std::vector<FileRange> find_ranges(const std::string& path, std::size_t count, const CorpusOptions& options,
                                   const Resources& resources);

}  // namespace quern
