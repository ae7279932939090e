#pragma once
#include <atomic>

#include "quern/io/checksum.hpp"
#include "quern/io/file.hpp"

namespace quern {

/// Lets one thread interrupt another that waits for input from a pipe or a terminal.
class ReadInterrupt {
 public:
  /// Throws IoError if the process has no descriptor left.
  ReadInterrupt();
  ~ReadInterrupt();
  ReadInterrupt(const ReadInterrupt&) = delete;
  ReadInterrupt& operator=(const ReadInterrupt&) = delete;

  /// Ends all current and later wait() calls. Thread-safe.
  void stop() noexcept;
  /// Waits until `descriptor` has bytes or is at its end, and returns true; returns false once stop() is called. A pipe
  /// is at its end once all writers have closed it, not before the first has opened it. Throws IoError, with `name`.
  bool wait(int descriptor, const std::string& name) const;

 private:
  std::atomic<bool> stopped_ = false;
  int event_ = -1;  ///< wakes waiting threads
};

/// What messages call an input: its path, or "standard input" for "-".
std::string source_name(const std::string& path);

/// Bytes [from, to) of a file.
struct FileRange {
  std::uint64_t from = 0, to = 0;

  bool operator==(const FileRange&) const = default;
};

/// The bytes of one file from start to end, decompressed: plain, gzip (RFC 1952), bzip2 or xz (any number of members,
/// zero bytes after them tolerated), zstd (RFC 8878, any number of frames, windows up to 128 MiB), or the LZW of
/// compress (.Z). The first bytes decide the format, not the name. Memory is bounded for any content.
class ByteSource {
 public:
  virtual ~ByteSource() = default;

  /// The largest zstd window by default: the limit of the zstd tool.
  static constexpr std::uint64_t default_max_window_bytes = std::uint64_t{128} << 20;

  /// Opens a file, a pipe, or standard input ("-"). Throws IoError if it can't be opened or read, InvalidArgument if it
  /// is a folder. Stopping `interrupt`, which must outlive the source, ends the input. Reading throws InvalidArgument
  /// if decompression needs a window of more than `max_window_bytes` of memory, or if the content has an
  /// unreadable_form().
  static std::unique_ptr<ByteSource> open(const std::string& path, const ReadInterrupt* interrupt = nullptr,
                                          std::uint64_t max_window_bytes = default_max_window_bytes);
  /// As above within a memory budget, with max_window_bytes() as the limit.
  static std::unique_ptr<ByteSource> open(const std::string& path, const Resources& resources);
  /// Memory for the window when one file is read at a time: common windows, up to 8 MB, fit a budget of 64 MB.
  static std::uint64_t max_window_bytes(const Resources& resources) { return resources.memory_bytes / 4; }
  /// A range of an uncompressed file, unconverted. Throws IoError as above; InvalidArgument if the file does not
  /// support random access, is compressed, or is shorter than the range.
  static std::unique_ptr<ByteSource> open_range(const std::string& path, const FileRange& range,
                                                const ReadInterrupt* interrupt = nullptr);
  /// As above for bytes in memory, with a name for messages.
  static std::unique_ptr<ByteSource> from_memory(std::string name, std::string bytes);

  /// Reads at most to.size() bytes and returns their number; 0 only at the end (or if `to` is empty). Throws
  /// CorruptFile, with the name and the offset in the stored file, if compressed data is damaged or truncated or has
  /// other data after it; IoError if reading fails.
  virtual std::size_t read(std::span<std::uint8_t> to) = 0;
  /// For sources that a program fills: ends all current and later reads, including those of other threads.
  virtual void stop() noexcept {}
  /// The path, or "standard input".
  virtual const std::string& name() const = 0;
  /// Bytes of the stored file read so far.
  virtual std::uint64_t compressed_bytes_read() const = 0;
};

/// Bytes that tell a compressed file.
inline constexpr std::size_t min_look_ahead = 10;
/// Whether ByteSource would decompress a file that begins with `head` (min_look_ahead bytes, or the whole file).
bool is_compressed(ByteView head);

/// Bytes that tell an unreadable form.
inline constexpr std::size_t form_bytes = 512;
/// What a file is whose content, decompressed, begins with `head`, and the remedy, if it is an archive, in a
/// compression that Quern can't read, or compressed twice: "a zip archive; unpack it first". Empty for others.
std::string unreadable_form(ByteView head);

/// Reads until `to` is full or the source ends; returns the number of bytes read.
std::size_t read_fully(ByteSource& source, std::span<std::uint8_t> to);

/// Checks the limits of a file that is read whole, while it is read.
class ReadLimits {
 public:
  static constexpr std::uint64_t any_line = ~std::uint64_t{0};

  /// `max_line_bytes`: for text; an endless device usually has no line.
  ReadLimits(std::uint64_t max_bytes, std::uint64_t max_line_bytes = any_line)
      : max_bytes_(max_bytes), max_line_bytes_(max_line_bytes) {}

  std::uint64_t max_bytes() const { return max_bytes_; }
  /// Counts the next bytes of the file. Throws InvalidArgument, with its name, if it is larger than a limit.
  void add(ByteView bytes, const std::string& name);

 private:
  std::uint64_t max_bytes_, max_line_bytes_;
  std::uint64_t bytes_ = 0, line_bytes_ = 0;
};

/// The content of a small file, decompressed if necessary; "-" for standard input. check_head() gets its first 64 KiB,
/// or all of a shorter file, before the rest is read. Stopping `interrupt` ends the content. Throws like
/// ReadLimits::add(), ByteSource and check_head().
std::string read_whole(const std::string& path, ReadLimits limits,
                       const std::function<void(std::string_view)>& check_head = {},
                       const ReadInterrupt* interrupt = nullptr);

/// Passes a source's bytes on and computes their XXH3-64, which identifies a file by its content.
class HashingSource : public ByteSource {
 public:
  explicit HashingSource(std::unique_ptr<ByteSource> source) : source_(std::move(source)) {}

  std::size_t read(std::span<std::uint8_t> to) override;
  const std::string& name() const override { return source_->name(); }
  std::uint64_t compressed_bytes_read() const override { return source_->compressed_bytes_read(); }
  /// The hash of the decompressed bytes so far.
  std::uint64_t hash() const { return hash_.value(); }

 private:
  std::unique_ptr<ByteSource> source_;
  StreamHash hash_;
};

/// The stored bytes of a file, a pipe, standard input or a text in memory, not decompressed, with look-ahead.
class RawSource : public ByteSource {
 public:
  static std::unique_ptr<RawSource> open(const std::string& path, const ReadInterrupt* interrupt);
  /// As ByteSource::open_range(), but accepts compressed files.
  static std::unique_ptr<RawSource> open_range(const std::string& path, const FileRange& range,
                                               const ReadInterrupt* interrupt);
  static std::unique_ptr<RawSource> from_memory(std::string name, std::string bytes);

  std::size_t read(std::span<std::uint8_t> to) override;
  const std::string& name() const override { return name_; }
  std::uint64_t compressed_bytes_read() const override { return bytes_read_; }

  /// The look-ahead: at least min_look_ahead bytes, fewer only at the end.
  ByteView peek();
  /// Consumes the first `size` bytes of the look-ahead.
  void skip(std::size_t size);
  /// Keeps `size` consumed bytes for go_back().
  void keep_behind(std::size_t size) { keep_behind_ = size; }
  /// Returns the last `size` consumed bytes to the look-ahead, at most as many as are kept.
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
  std::size_t taken_ = 0;   ///< bytes consumed from the buffer
  std::size_t filled_ = 0;  ///< bytes in the buffer
  std::size_t keep_behind_ = 0;
  bool at_end_ = false;
  std::uint64_t bytes_read_ = 0;
  std::uint64_t left_ = ~std::uint64_t{0};  ///< bytes that may still be read
};

/// The content of a file, decompressed if necessary.
std::unique_ptr<ByteSource> decompressing(std::unique_ptr<RawSource> stored, std::uint64_t max_window_bytes);

}  // namespace quern
