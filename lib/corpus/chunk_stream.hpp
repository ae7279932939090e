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

/// What becomes of a gzip file with a damaged member.
enum class Damage {
  refuse,  ///< it is an error
  skip     ///< the file goes on with the next member
};

/// A piece of a file's decompressed bytes: chunk_bytes of them, but for the last one of a segment, which may be shorter
/// or empty. Damage ends a segment; a file without any is one.
struct Chunk {
  std::string bytes;
  std::uint32_t file = 0;
  bool last_of_file = false;
  std::optional<GzipDamage> damage;    ///< behind it
  std::uint64_t compressed_bytes = 0;  ///< stored bytes that were read for it
};

/// The chunks of all files in order, read and decompressed ahead by one thread into a few buffers.
class ChunkStream {
 public:
  /// `files` must outlive the stream; `max_window_bytes` as ByteSource::open() takes it.
  ChunkStream(const CorpusFiles& files, std::uint64_t max_window_bytes, Damage damage);
  /// Stops the thread, also while it waits for input.
  ~ChunkStream();

  /// Replaces `chunk`, whose memory is used again; false at the end of the last file. Throws what the reading threw.
  bool next(Chunk& chunk);

  static constexpr std::size_t chunk_bytes = 256 << 10;

 private:
  void run();
  void read_file(std::uint32_t file);
  /// Hands a chunk over and gets a used one for it; false if the stream is being stopped.
  bool put(Chunk& chunk);

  static constexpr std::size_t max_ready = 4;

  const CorpusFiles& files_;
  std::uint64_t max_window_bytes_;
  Damage damage_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Chunk> ready_;  ///< in order, the oldest first
  std::vector<Chunk> used_;
  bool done_ = false;
  bool stopped_ = false;
  std::exception_ptr failure_;
  ReadInterrupt interrupt_;
  std::thread thread_;
};

/// The bytes of a corpus's files, one file after another, each from front to back. What is looked at before its turn
/// waits in a work file.
class FileBytes {
 public:
  /// `files` must outlive it.
  FileBytes(const CorpusFiles& files, std::uint64_t max_window_bytes, Damage damage, std::string tmp_folder);

  /// Appends the next bytes of the segment at hand to `window`; once it is read, the first ones of the next segment or
  /// file. False at the end of the last file. Throws what the reading threw.
  bool next(std::string& window);
  /// The number of the file at hand.
  std::uint32_t file() const { return chunk_.file; }
  /// Whether nothing of the segment at hand is left.
  bool segment_is_read() const { return segment_is_seen() && waiting_bytes() == 0; }
  /// Whether its end was met, if only by peek(); and the damage there, if it does not end with the file.
  bool segment_is_seen() const { return chunk_.last_of_file || chunk_.damage; }
  const std::optional<GzipDamage>& damage() const { return chunk_.damage; }

  /// Up to `size` bytes of the segment at hand, `distance` bytes after those handed out; fewer where it ends.
  std::string peek(std::uint64_t distance, std::size_t size);
  /// Hands out the next `size` bytes of the segment at hand by appending them to `to`. There must be so many.
  void move_to(Spool& to, std::uint64_t size);

  /// Stored bytes that were read since the last call.
  std::uint64_t take_compressed_bytes() { return std::exchange(compressed_bytes_, 0); }

 private:
  bool read_chunk();
  std::uint64_t waiting_bytes() const { return waiting_.size() - waiting_begin_; }
  void drop_waiting(std::uint64_t size);

  std::string tmp_folder_;
  ChunkStream chunks_;
  Chunk chunk_;
  Spool waiting_;  ///< looked at, but not handed out: from waiting_begin_ on
  std::uint64_t waiting_begin_ = 0;
  std::uint64_t compressed_bytes_ = 0;
};

}  // namespace quern
