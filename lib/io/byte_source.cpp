#include "quern/io/byte_source.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <limits>
#include <new>

#include "quern/core/bytes.hpp"

namespace quern {
namespace {

bool begins_with(ByteView bytes, std::initializer_list<std::uint8_t> magic) {
  return bytes.size() >= magic.size() && std::equal(magic.begin(), magic.end(), bytes.begin());
}

bool is_gzip(ByteView head) { return begins_with(head, {0x1f, 0x8b}); }

/// Accepts a skippable frame too, since parallel compressors write one first.
bool is_zstd(ByteView head) {
  return begins_with(head, {0x28, 0xb5, 0x2f, 0xfd}) ||
         (head.size() >= 4 && (head[0] & 0xf0) == 0x50 && begins_with(head.subspan(1), {0x2a, 0x4d, 0x18}));
}

/// The name, offset and error messages of both compressed formats.
class CompressedSource : public ByteSource {
 public:
  CompressedSource(std::unique_ptr<RawSource> stored, const char* form) : stored_(std::move(stored)), form_(form) {}
  const std::string& name() const override { return stored_->name(); }
  std::uint64_t compressed_bytes_read() const override { return stored_->offset(); }

 protected:
  [[noreturn]] void fail(const std::string& why) const {
    throw CorruptFile("{}: damaged {} data at byte {}: {}", name(), form_, stored_->offset(), why);
  }
  [[noreturn]] void fail_cut() const {
    throw CorruptFile(name() + ": the " + form_ + " data ends too early, at byte " + std::to_string(stored_->offset()) +
                      "; the file is truncated: fetch or create it again");
  }

  std::unique_ptr<RawSource> stored_;

 private:
  const char* form_;
};

/// The content of a gzip file (RFC 1952): all members, concatenated.
class GzipSource : public CompressedSource {
 public:
  explicit GzipSource(std::unique_ptr<RawSource> stored) : CompressedSource(std::move(stored), "gzip") {
    constexpr int gzip_only = 16;
    if (inflateInit2(&stream_, MAX_WBITS + gzip_only) != Z_OK) throw std::bad_alloc();
  }
  ~GzipSource() override { inflateEnd(&stream_); }
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;

  std::size_t read(std::span<std::uint8_t> to) override {
    while (!to.empty() && (in_member_ || begin_member()))
      if (const std::size_t size = inflate_some(to)) return size;
    return 0;
  }

 private:
  std::size_t inflate_some(std::span<std::uint8_t> to) {
    const ByteView input = stored_->peek();
    if (input.empty()) fail_cut();
    stream_.next_in = const_cast<Bytef*>(input.data());
    stream_.avail_in = static_cast<uInt>(std::min<std::size_t>(input.size(), std::numeric_limits<uInt>::max()));
    stream_.next_out = to.data();
    stream_.avail_out = static_cast<uInt>(std::min<std::size_t>(to.size(), std::numeric_limits<uInt>::max()));
    const uInt offered_in = stream_.avail_in;
    const uInt offered_out = stream_.avail_out;
    const int status = inflate(&stream_, Z_NO_FLUSH);
    stored_->skip(offered_in - stream_.avail_in);
    if (status == Z_STREAM_END)
      in_member_ = false;
    else if (status != Z_OK && status != Z_BUF_ERROR)
      fail(stream_.msg ? stream_.msg : "invalid deflate data");
    return offered_out - stream_.avail_out;
  }

  /// Resets the stream for the next member; false at the end of the file.
  bool begin_member() {
    const ByteView input = stored_->peek();
    if (input.size() >= 2 && input[0] == 0x1f && input[1] == 0x8b) {
      inflateReset(&stream_);
      return in_member_ = true;
    }
    if (!input.empty() && input[0] != 0) fail("extra data follows the compressed data");
    skip_padding();
    return false;
  }

  /// Tapes and some tools pad the last block with zeros.
  void skip_padding() {
    for (ByteView input = stored_->peek(); !input.empty(); input = stored_->peek()) {
      if (std::any_of(input.begin(), input.end(), [](std::uint8_t byte) { return byte != 0; }))
        fail("extra data follows the compressed data");
      stored_->skip(input.size());
    }
  }

  z_stream stream_{};
  bool in_member_ = true;
};

/// The content of a zstd file (RFC 8878): all frames, concatenated.
class ZstdSource : public CompressedSource {
 public:
  ZstdSource(std::unique_ptr<RawSource> stored, std::uint64_t max_window_bytes)
      : CompressedSource(std::move(stored), "zstd"), context_(ZSTD_createDCtx()) {
    if (!context_) throw std::bad_alloc();
    window_log_ = std::clamp(static_cast<int>(std::bit_width(max_window_bytes)) - 1, min_window_log, max_window_log);
    ZSTD_DCtx_setParameter(context_, ZSTD_d_windowLogMax, window_log_);
  }
  ~ZstdSource() override { ZSTD_freeDCtx(context_); }
  ZstdSource(const ZstdSource&) = delete;
  ZstdSource& operator=(const ZstdSource&) = delete;

  std::size_t read(std::span<std::uint8_t> to) override {
    if (to.empty()) return 0;
    ZSTD_outBuffer output{to.data(), to.size(), 0};
    while (output.pos == 0) {
      const ByteView bytes = stored_->peek();
      if (bytes.empty() && !in_frame_) return 0;
      ZSTD_inBuffer input{bytes.data(), bytes.size(), 0};
      const std::size_t status = ZSTD_decompressStream(context_, &output, &input);
      stored_->skip(input.pos);
      if (ZSTD_getErrorCode(status) == ZSTD_error_frameParameter_windowTooLarge) refuse_window();
      if (ZSTD_isError(status)) fail(ZSTD_getErrorName(status));
      in_frame_ = status != 0;
      // The context may still hold the last bytes of a frame: the data is truncated only once it returns none.
      if (bytes.empty() && output.pos == 0 && in_frame_) fail_cut();
    }
    return output.pos;
  }

 private:
  [[noreturn]] void refuse_window() const {
    const bool is_largest = window_log_ == max_window_log;
    throw InvalidArgument(
        name() + ": its zstd data needs a window of more than " + size_text(std::uint64_t{1} << window_log_) +
        " of memory; " +
        (is_largest ? ""
                    : fmt::format("raise {} (1G is enough for any supported window), or ", option_name<"memory">)) +
        "compress it again with a smaller window");
  }

  static constexpr int min_window_log = 10, max_window_log = 27;

  ZSTD_DCtx* context_;
  int window_log_ = 0;  ///< the largest accepted window
  bool in_frame_ = true;
};

}  // namespace

std::unique_ptr<ByteSource> decompressing(std::unique_ptr<RawSource> stored, std::uint64_t max_window_bytes) {
  const ByteView head = stored->peek();
  if (is_gzip(head)) return std::make_unique<GzipSource>(std::move(stored));
  if (is_zstd(head)) return std::make_unique<ZstdSource>(std::move(stored), max_window_bytes);
  return stored;
}

std::unique_ptr<ByteSource> ByteSource::open(const std::string& path, const ReadInterrupt* interrupt,
                                             std::uint64_t max_window_bytes) {
  return decompressing(RawSource::open(path, interrupt), max_window_bytes);
}

std::unique_ptr<ByteSource> ByteSource::open(const std::string& path, const Resources& resources) {
  return open(path, nullptr, max_window_bytes(resources));
}

std::unique_ptr<ByteSource> ByteSource::open_range(const std::string& path, const FileRange& range,
                                                   const ReadInterrupt* interrupt) {
  if (is_compressed(RawSource::open_range(path, {0, std::min<std::uint64_t>(4, range.to)}, interrupt)->peek()))
    throw InvalidArgument(path + ": is compressed and can't be read in ranges; decompress it, or read it whole");
  return RawSource::open_range(path, range, interrupt);
}

std::unique_ptr<ByteSource> ByteSource::from_memory(std::string name, std::string bytes) {
  return decompressing(RawSource::from_memory(std::move(name), std::move(bytes)), default_max_window_bytes);
}

bool is_compressed(ByteView head) { return is_gzip(head) || is_zstd(head); }

std::size_t read_fully(ByteSource& source, std::span<std::uint8_t> to) {
  std::size_t size = 0;
  while (size < to.size()) {
    const std::size_t got = source.read(to.subspan(size));
    if (got == 0) break;
    size += got;
  }
  return size;
}

void ReadLimits::add(ByteView bytes, const std::string& name) {
  const auto last = std::find(bytes.rbegin(), bytes.rend(), std::uint8_t{'\n'});
  bytes_ += bytes.size();
  line_bytes_ = static_cast<std::uint64_t>(last - bytes.rbegin()) + (last == bytes.rend() ? line_bytes_ : 0);
  if (bytes_ > max_bytes_)
    throw InvalidArgument("{}: is larger than {}, the limit for this kind of file; is it the right file?", name,
                          size_text(max_bytes_));
  if (line_bytes_ > max_line_bytes_)
    throw InvalidArgument("{}: has a line of more than {}, the limit for this kind of file; is it the right file?",
                          name, size_text(max_line_bytes_));
}

std::string read_whole(const std::string& path, ReadLimits limits,
                       const std::function<void(std::string_view)>& check_head) {
  constexpr std::size_t step = 64 << 10;
  const std::unique_ptr<ByteSource> source = ByteSource::open(path);
  std::string text;
  for (;;) {
    const std::size_t before = text.size();
    // Grows by half, and not past the limit: while it moves, both copies are in memory.
    if (before + step > text.capacity())
      text.reserve(std::min<std::uint64_t>(before + before / 2, limits.max_bytes()) + step);
    text.resize(before + step);
    const std::size_t got = read_fully(*source, {reinterpret_cast<std::uint8_t*>(text.data()) + before, step});
    text.resize(before + got);
    limits.add(as_bytes(text).subspan(before), source->name());
    if (before == 0 && check_head) check_head(text);
    if (got < step) return text;
  }
}

std::size_t HashingSource::read(std::span<std::uint8_t> to) {
  const std::size_t size = source_->read(to);
  hash_.add(to.first(size));
  return size;
}

std::unique_ptr<RawSource> RawSource::open(const std::string& path, const ReadInterrupt* interrupt) {
  std::unique_ptr<RawSource> source(new RawSource(path == "-" ? "standard input" : path));
  source->interrupt_ = interrupt;
  if (path == "-") {
    source->descriptor_ = STDIN_FILENO;
  } else {
    source->file_ = interrupt == nullptr ? File::open_for_reading(path) : File::open_without_waiting(path);
    source->descriptor_ = source->file_->descriptor();
  }
  return source;
}

std::unique_ptr<RawSource> RawSource::open_range(const std::string& path, const FileRange& range,
                                                 const ReadInterrupt* interrupt) {
  std::unique_ptr<RawSource> source(new RawSource(path));
  source->interrupt_ = interrupt;
  source->file_ = File::open_regular(path);
  source->descriptor_ = source->file_->descriptor();
  if (range.from > range.to || range.to > source->file_->size())
    throw InvalidArgument("{}: is {} bytes long and has no range {}-{}", path, source->file_->size(), range.from,
                          range.to);
  if (::lseek(source->descriptor_, static_cast<off_t>(range.from), SEEK_SET) < 0) throw_errno("can't read", path);
  source->left_ = range.to - range.from;
  return source;
}

std::unique_ptr<RawSource> RawSource::from_memory(std::string name, std::string bytes) {
  std::unique_ptr<RawSource> source(new RawSource(std::move(name)));
  const ByteView view = as_bytes(bytes);
  source->buffer_.assign(view.begin(), view.end());
  source->filled_ = source->bytes_read_ = bytes.size();
  source->at_end_ = true;
  return source;
}

std::size_t RawSource::read_stored(std::span<std::uint8_t> to) {
  if (at_end_) return 0;
  const std::size_t size = std::min<std::uint64_t>(to.size(), left_);
  while (interrupt_ == nullptr || interrupt_->wait(descriptor_, name_)) {
    // pread() does not support pipes.
    const ssize_t got = ::read(descriptor_, to.data(), size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw_errno("can't read", name_);
    at_end_ = got == 0;
    bytes_read_ += static_cast<std::uint64_t>(got);
    left_ -= static_cast<std::uint64_t>(got);
    return static_cast<std::size_t>(got);
  }
  at_end_ = true;
  return 0;
}

std::size_t RawSource::read(std::span<std::uint8_t> to) {
  if (to.empty()) return 0;
  if (taken_ == filled_) return read_stored(to);
  const std::size_t size = std::min(to.size(), filled_ - taken_);
  std::memcpy(to.data(), buffer_.data() + taken_, size);
  taken_ += size;
  return size;
}

ByteView RawSource::peek() {
  while (filled_ - taken_ < 4 && !at_end_) {
    const std::size_t kept = std::min(taken_, keep_behind_), dropped = taken_ - kept;
    buffer_.resize(keep_behind_ + buffer_bytes);
    std::memmove(buffer_.data(), buffer_.data() + dropped, filled_ - dropped);
    filled_ -= dropped;
    taken_ = kept;
    filled_ += read_stored(std::span(buffer_).subspan(filled_));
  }
  return ByteView(buffer_).subspan(taken_, filled_ - taken_);
}

void RawSource::skip(std::size_t size) { taken_ += size; }

ReadInterrupt::ReadInterrupt() : event_(::eventfd(0, EFD_CLOEXEC)) {
  if (event_ < 0) throw_errno("can't create", "an event descriptor");
}

ReadInterrupt::~ReadInterrupt() { ::close(event_); }

void ReadInterrupt::stop() noexcept {
  stopped_ = true;
  ::eventfd_write(event_, 1);
}

bool ReadInterrupt::wait(int descriptor, const std::string& name) const {
  while (!stopped_) {
    pollfd waiting[] = {{descriptor, POLLIN, 0}, {event_, POLLIN, 0}};
    if (::poll(waiting, 2, -1) >= 0) return !stopped_;
    if (errno != EINTR) throw_errno("can't wait for", name);
  }
  return false;
}

}  // namespace quern
