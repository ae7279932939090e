#include "quern/lab/synth/packed_text.hpp"

#include <zlib.h>

#include <memory>
#include <new>

#include "quern/core/bytes.hpp"
#include "quern/core/error.hpp"
#include "quern/core/job_pipeline.hpp"
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

/// A chunk on its way to the file.
struct TextJob {
  std::uint64_t chunk = 0;
  std::string text;
  Bytes packed;
  ZstdCompressor compressor{3};
};

}  // namespace

void write_packed_text(std::uint64_t chunks,
                       const std::function<void(std::uint64_t chunk, std::string& text)>& put_chunk,
                       const std::string& name, const Resources& resources, File& out) {
  const bool gzip = ends_with(name, ".gz"), zstd = ends_with(name, ".zst");
  FileAppender appender(out);
  std::uint64_t next_chunk = 0;
  const auto next = [&](TextJob& job) {
    job.chunk = next_chunk++;
    return job.chunk < chunks;
  };
  const auto make = [&](TextJob& job) {
    job.text.clear();
    put_chunk(job.chunk, job.text);
    job.packed.clear();
    if (gzip) {
      job.packed = gzip_member(job.text);
    } else if (zstd) {
      job.compressor.append(as_bytes(job.text), job.packed);
    } else {
      put_bytes(job.packed, job.text);
    }
  };
  run_jobs(
      resources.threads * 2, [] { return std::make_unique<TextJob>(); }, next, make,
      [&](const TextJob& job) { appender.write(job.packed); });
  appender.flush();
}

}  // namespace quern
