#pragma once
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "quern/corpus/corpus_files.hpp"
#include "quern/io/byte_source.hpp"
#include "quern/io/damage_skipping.hpp"
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
  /// `files` must outlive the stream; `max_window_bytes` as in ByteSource::open().
  ChunkStream(const CorpusFiles& files, std::uint64_t max_window_bytes, Damage damage);
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

}  // namespace quern
