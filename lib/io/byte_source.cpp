#include "quern/io/byte_source.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "quern/core/error.hpp"
#include "quern/core/own_errors.hpp"
#include "quern/core/size_text.hpp"
#include "quern/io/raw_source.hpp"

namespace quern {

namespace {

bool begins_with(ByteView bytes, std::initializer_list<std::uint8_t> magic) {
  return bytes.size() >= magic.size() && std::equal(magic.begin(), magic.end(), bytes.begin());
}

bool is_gzip(ByteView head) { return begins_with(head, {0x1f, 0x8b}); }

/// A zstd frame, or a skippable frame, with which parallel compressors begin.
bool is_zstd(ByteView head) {
  return begins_with(head, {0x28, 0xb5, 0x2f, 0xfd}) ||
         (head.size() >= 4 && (head[0] & 0xf0) == 0x50 && begins_with(head.subspan(1), {0x2a, 0x4d, 0x18}));
}

}  // namespace

std::unique_ptr<ByteSource> decompressing(std::unique_ptr<RawSource> stored, std::uint64_t max_window_bytes) {
  const ByteView head = stored->peek();
  if (is_gzip(head)) return make_gzip_source(std::move(stored));
  if (is_zstd(head)) return make_zstd_source(std::move(stored), max_window_bytes);
  return stored;
}

std::unique_ptr<ByteSource> ByteSource::open(const std::string& path, const ReadInterrupt* interrupt,
                                             std::uint64_t max_window_bytes) {
  return with_own_errors([&] { return decompressing(RawSource::open(path, interrupt), max_window_bytes); });
}

std::unique_ptr<ByteSource> ByteSource::open(const std::string& path, const Resources& resources) {
  return open(path, nullptr, max_window_bytes(resources));
}

std::unique_ptr<ByteSource> ByteSource::open_range(const std::string& path, const FileRange& range,
                                                   const ReadInterrupt* interrupt) {
  return with_own_errors([&]() -> std::unique_ptr<ByteSource> {
    if (is_compressed(RawSource::open_range(path, {0, std::min<std::uint64_t>(4, range.to)}, interrupt)->peek()))
      throw InvalidArgument(path +
                            ": is compressed, so that it can't be read in ranges; decompress it, or read it whole");
    return RawSource::open_range(path, range, interrupt);
  });
}

std::unique_ptr<ByteSource> ByteSource::of_memory(std::string name, std::string bytes) {
  return decompressing(RawSource::of_memory(std::move(name), std::move(bytes)), default_max_window_bytes);
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

std::string read_whole(const std::string& path, std::uint64_t max_bytes) {
  return with_own_errors([&]() -> std::string {
    constexpr std::size_t step = 64 << 10;
    const std::unique_ptr<ByteSource> source = ByteSource::open(path);
    std::string text;
    for (;;) {
      const std::size_t before = text.size();
      text.resize(before + step);
      const std::size_t got = read_fully(*source, {reinterpret_cast<std::uint8_t*>(text.data()) + before, step});
      text.resize(before + got);
      if (text.size() > max_bytes) {
        throw InvalidArgument(source->name() + ": has more than " + size_text(max_bytes) +
                              ", the limit for such a file; is it the right file?");
      }
      if (got < step) return text;
    }
  });
}

std::size_t HashingSource::read(std::span<std::uint8_t> to) {
  const std::size_t size = source_->read(to);
  hash_.add(to.first(size));
  return size;
}

}  // namespace quern
