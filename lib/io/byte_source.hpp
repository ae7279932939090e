#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "quern/core/resources.hpp"
#include "quern/io/checksum.hpp"
#include "quern/io/file.hpp"
#include "quern/io/read_interrupt.hpp"

namespace quern {

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

}  // namespace quern
