#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "quern/core/resources.hpp"
#include "quern/core/types.hpp"
#include "quern/io/checksum.hpp"
#include "quern/io/file.hpp"

namespace quern {

/// Lets one thread end another's wait for input that may never come: from a pipe or a terminal that stays open.
class ReadInterrupt {
 public:
  /// Throws IoError if the system has no descriptor left.
  ReadInterrupt();
  ~ReadInterrupt();
  ReadInterrupt(const ReadInterrupt&) = delete;
  ReadInterrupt& operator=(const ReadInterrupt&) = delete;

  /// Ends wait(), now and from now on. By any thread.
  void stop() noexcept;
  /// Waits until `descriptor` has bytes or is at its end: true; false once stop() is called. A pipe is at its end once
  /// all its writers have closed it, not before there was one. Throws IoError, with `name`.
  bool wait(int descriptor, const std::string& name) const;

 private:
  std::atomic<bool> stopped_ = false;
  int event_ = -1;  ///< wakes a wait that has begun
};

/// Bytes [from, to) of a file.
struct FileRange {
  std::uint64_t from = 0, to = 0;

  bool operator==(const FileRange&) const = default;
};

/// The bytes of one file from front to back, decompressed on the way: plain, gzip (RFC 1952, any number of members,
/// trailing zero bytes tolerated) or zstd (RFC 8878, any number of frames, windows up to 128 MiB). The first bytes
/// decide which, never the name. Memory stays bounded whatever the file contains.
class ByteSource {
 public:
  virtual ~ByteSource() = default;

  /// The windows of zstd that are read by default: all that the zstd tool reads without being told so.
  static constexpr std::uint64_t default_max_window_bytes = std::uint64_t{128} << 20;

  /// Opens a file, a pipe, or standard input ("-"). Throws IoError if it can't be opened or read, InvalidArgument
  /// if it is a folder. With `interrupt`, which must outlive the source, its input is at its end once that is stopped.
  /// Reading throws InvalidArgument if decompression needs a window of more than `max_window_bytes` of memory.
  static std::unique_ptr<ByteSource> open(const std::string& path, const ReadInterrupt* interrupt = nullptr,
                                          std::uint64_t max_window_bytes = default_max_window_bytes);
  /// The same within a memory budget: windows of max_window_bytes() at most.
  static std::unique_ptr<ByteSource> open(const std::string& path, const Resources& resources);
  /// The part of the memory that a window may take where one file is read at a time: what is common, up to 8 MB, fits
  /// 64 MB.
  static std::uint64_t max_window_bytes(const Resources& resources) { return resources.memory_bytes / 4; }
  /// Some bytes of a file that is not compressed, as they are. Throws IoError as above; InvalidArgument if it is no
  /// file that can be read at any place, is compressed, or ends before them.
  static std::unique_ptr<ByteSource> open_range(const std::string& path, const FileRange& range,
                                                const ReadInterrupt* interrupt = nullptr);
  /// The same bytes from memory, under a name for messages.
  static std::unique_ptr<ByteSource> of_memory(std::string name, std::string bytes);

  /// Reads at most to.size() bytes and returns their number; 0 only at the end (or if `to` is empty).
  /// Throws CorruptFile, with the name and the offset in the stored file, if compressed data is damaged or truncated,
  /// or followed by something else; IoError if the system can't read.
  virtual std::size_t read(std::span<std::uint8_t> to) = 0;
  /// Ends a read that waits in another thread, now and from now on; for sources that a program fills.
  virtual void stop() noexcept {}
  /// The path, or "standard input".
  virtual const std::string& name() const = 0;
  /// Bytes of the stored file read so far.
  virtual std::uint64_t compressed_bytes_read() const = 0;
};

/// Whether a file that begins with `head`, some 4 bytes of it, is one that ByteSource would decompress.
bool is_compressed(ByteView head);

/// Reads until `to` is full or the source ends; returns the number of bytes read.
std::size_t read_fully(ByteSource& source, std::span<std::uint8_t> to);

/// The whole content of a (perhaps compressed) small file, "-" for standard input. Throws InvalidArgument if it has
/// more than `max_bytes`, and what ByteSource throws.
std::string read_whole(const std::string& path, std::uint64_t max_bytes);

/// Passes a source's bytes on and computes their XXH3-64: identifies a file by its content.
class HashingSource : public ByteSource {
 public:
  explicit HashingSource(std::unique_ptr<ByteSource> source) : source_(std::move(source)) {}

  std::size_t read(std::span<std::uint8_t> to) override;
  const std::string& name() const override { return source_->name(); }
  std::uint64_t compressed_bytes_read() const override { return source_->compressed_bytes_read(); }
  /// Of the bytes so far, decompressed.
  std::uint64_t hash() const { return hash_.value(); }

 private:
  std::unique_ptr<ByteSource> source_;
  StreamHash hash_;
};

/// The stored bytes of a file, a pipe, standard input or a text in memory, not decompressed. Bytes that were
/// read ahead can be inspected before they are taken.
class RawSource : public ByteSource {
 public:
  static std::unique_ptr<RawSource> open(const std::string& path, const ReadInterrupt* interrupt);
  /// As ByteSource::open_range(), compressed or not.
  static std::unique_ptr<RawSource> open_range(const std::string& path, const FileRange& range,
                                               const ReadInterrupt* interrupt);
  static std::unique_ptr<RawSource> of_memory(std::string name, std::string bytes);

  std::size_t read(std::span<std::uint8_t> to) override;
  const std::string& name() const override { return name_; }
  std::uint64_t compressed_bytes_read() const override { return bytes_read_; }

  /// The bytes that were read ahead and not taken yet: at least 4, fewer only at the end.
  ByteView peek();
  /// Takes the first bytes of what peek() returned.
  void skip(std::size_t size);
  /// Keeps so many bytes behind those that are taken, for go_back().
  void keep_behind(std::size_t size) { keep_behind_ = size; }
  /// Gives back the last bytes that were taken, so many as are kept at most.
  void go_back(std::size_t size) { taken_ -= size; }
  /// The next byte's offset in the file.
  std::uint64_t offset() const { return bytes_read_ - (filled_ - taken_); }

 private:
  explicit RawSource(std::string name) : name_(std::move(name)) {}
  /// Like ::read: 0 at the end.
  std::size_t read_stored(std::span<std::uint8_t> to);

  static constexpr std::size_t buffer_bytes = 256 << 10;

  std::string name_;
  std::optional<File> file_;
  int descriptor_ = -1;
  const ReadInterrupt* interrupt_ = nullptr;
  Bytes buffer_;
  std::size_t taken_ = 0;   ///< of the buffer
  std::size_t filled_ = 0;  ///< of the buffer
  std::size_t keep_behind_ = 0;
  bool at_end_ = false;
  std::uint64_t bytes_read_ = 0;
  std::uint64_t left_ = ~std::uint64_t{0};  ///< bytes that may still be read
};

/// The content of the file, decompressed if it is compressed.
std::unique_ptr<ByteSource> decompressing(std::unique_ptr<RawSource> stored, std::uint64_t max_window_bytes);

/// The content of a gzip file (RFC 1952): all its members, one after another.
std::unique_ptr<ByteSource> make_gzip_source(std::unique_ptr<RawSource> stored);

/// The content of a zstd file (RFC 8878): all its frames, one after another. Throws InvalidArgument at a frame that
/// needs a window of more than `max_window_bytes`.
std::unique_ptr<ByteSource> make_zstd_source(std::unique_ptr<RawSource> stored, std::uint64_t max_window_bytes);

}  // namespace quern
