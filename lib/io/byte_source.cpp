#include "quern/io/byte_source.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "quern/core/bytes.hpp"

namespace quern {
namespace {

/// A source that refuses a file by its first bytes.
class ReadableSource : public ByteSource {
 public:
  explicit ReadableSource(std::unique_ptr<ByteSource> source) : source_(std::move(source)) {}

  std::size_t read(std::span<std::uint8_t> to) override {
    if (!std::exchange(is_checked_, true)) check();
    if (left_.empty()) return source_->read(to);
    const std::size_t size = std::min(to.size(), left_.size());
    std::copy_n(left_.begin(), size, to.begin());
    left_ = left_.subspan(size);
    return size;
  }
  const std::string& name() const override { return source_->name(); }
  std::uint64_t compressed_bytes_read() const override { return source_->compressed_bytes_read(); }

 private:
  void check() {
    left_ = ByteView(begin_).first(read_fully(*source_, begin_));
    if (const std::string form = unreadable_form(left_); !form.empty())
      throw InvalidArgument("{}: is {}", name(), form);
  }

  std::unique_ptr<ByteSource> source_;
  bool is_checked_ = false;
  std::array<std::uint8_t, form_bytes> begin_{};
  ByteView left_;  ///< the unread part of begin_
};

}  // namespace

std::unique_ptr<ByteSource> ByteSource::open(const std::string& path, const ReadInterrupt* interrupt,
                                             std::uint64_t max_window_bytes) {
  return std::make_unique<ReadableSource>(decompressing(RawSource::open(path, interrupt), max_window_bytes));
}

std::unique_ptr<ByteSource> ByteSource::open(const std::string& path, const Resources& resources) {
  return open(path, nullptr, max_window_bytes(resources));
}

std::unique_ptr<ByteSource> ByteSource::open_range(const std::string& path, const FileRange& range,
                                                   const ReadInterrupt* interrupt) {
  if (is_compressed(
          RawSource::open_range(path, {0, std::min<std::uint64_t>(min_look_ahead, range.to)}, interrupt)->peek()))
    throw InvalidArgument(path + ": is compressed and can't be read in ranges; decompress it, or read it whole");
  return RawSource::open_range(path, range, interrupt);
}

std::unique_ptr<ByteSource> ByteSource::from_memory(std::string name, std::string bytes) {
  return decompressing(RawSource::from_memory(std::move(name), std::move(bytes)), default_max_window_bytes);
}

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
                       const std::function<void(std::string_view)>& check_head, const ReadInterrupt* interrupt) {
  constexpr std::size_t step = 64 << 10;
  const std::unique_ptr<ByteSource> source = ByteSource::open(path, interrupt);
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

std::string source_name(const std::string& path) { return path == "-" ? "standard input" : path; }

std::unique_ptr<RawSource> RawSource::open(const std::string& path, const ReadInterrupt* interrupt) {
  std::unique_ptr<RawSource> source(new RawSource(source_name(path)));
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
  while (filled_ - taken_ < min_look_ahead && !at_end_) {
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
