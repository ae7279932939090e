#include "quern/io/raw_source.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "quern/core/bytes.hpp"
#include "quern/core/error.hpp"

namespace quern {

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
    throw InvalidArgument(
        fmt::format("{}: has {} bytes, and no range {}-{}", path, source->file_->size(), range.from, range.to));
  if (::lseek(source->descriptor_, static_cast<off_t>(range.from), SEEK_SET) < 0) throw_errno("can't read", path);
  source->left_ = range.to - range.from;
  return source;
}

std::unique_ptr<RawSource> RawSource::of_memory(std::string name, std::string bytes) {
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
    // Pipes don't support pread.
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

}  // namespace quern
