#include "quern/synth/packed_text.hpp"

#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_pipeline.h>
#include <zlib.h>

#include <memory>
#include <new>

#include "quern/core/bytes.hpp"
#include "quern/core/error.hpp"
#include "quern/io/zstd_frame.hpp"

namespace quern {
namespace {

bool ends_with(const std::string& name, std::string_view ending) {
  return name.size() >= ending.size() && name.compare(name.size() - ending.size(), ending.size(), ending) == 0;
}

/// One gzip member (RFC 1952).
Bytes gzip_member(std::string& text) {
  constexpr int level = 6, gzip_window = MAX_WBITS + 16, memory_level = 8;
  z_stream stream{};
  if (deflateInit2(&stream, level, Z_DEFLATED, gzip_window, memory_level, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
  Bytes out(deflateBound(&stream, text.size()) + 32);
  stream.next_in = reinterpret_cast<Bytef*>(text.data());
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = out.data();
  stream.avail_out = static_cast<uInt>(out.size());
  const int status = deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  if (status != Z_STREAM_END) throw Error("zlib can't compress");
  return out;
}

}  // namespace

void write_packed_text(std::uint64_t chunks,
                       const std::function<void(std::uint64_t chunk, std::string& text)>& put_chunk,
                       const std::string& name, const Resources& resources, File& out) {
  const bool gzip = ends_with(name, ".gz"), zstd = ends_with(name, ".zst");
  tbb::enumerable_thread_specific<std::unique_ptr<ZstdCompressor>> compressors(
      [] { return std::make_unique<ZstdCompressor>(3); });
  FileAppender appender(out);
  std::uint64_t next_chunk = 0;
  const auto next = [&](tbb::flow_control& control) -> std::uint64_t {
    if (next_chunk == chunks) control.stop();
    return next_chunk++;
  };
  const auto make = [&](std::uint64_t chunk) {
    std::string text;
    put_chunk(chunk, text);
    if (gzip) return gzip_member(text);
    Bytes packed;
    if (zstd) {
      compressors.local()->append(as_bytes(text), packed);
    } else {
      put_bytes(packed, text);
    }
    return packed;
  };
  const auto write = [&](const Bytes& bytes) { appender.write(bytes); };
  tbb::parallel_pipeline(resources.threads * 2,
                         tbb::make_filter<void, std::uint64_t>(tbb::filter_mode::serial_in_order, next) &
                             tbb::make_filter<std::uint64_t, Bytes>(tbb::filter_mode::parallel, make) &
                             tbb::make_filter<Bytes, void>(tbb::filter_mode::serial_in_order, write));
  appender.flush();
}

}  // namespace quern
