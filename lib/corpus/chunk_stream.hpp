#pragma once
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "quern/corpus/corpus_files.hpp"
#include "quern/io/damage_skipping.hpp"
#include "quern/io/read_interrupt.hpp"

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

}  // namespace quern
