#pragma once
#include "quern/core/types.hpp"

namespace quern {

/// Compresses to single zstd frames. Reuses its context: create one per thread.
class ZstdCompressor {
 public:
  explicit ZstdCompressor(int level = 1);
  ~ZstdCompressor();
  ZstdCompressor(const ZstdCompressor&) = delete;
  ZstdCompressor& operator=(const ZstdCompressor&) = delete;
  /// Appends one frame, which stores its content size, to `out`.
  void append(ByteView from, Bytes& out);

 private:
  void* context_;
  int level_;
};

/// Version of the zstd library at run time: other versions may produce other frames.
std::string zstd_version();

/// Decompresses single zstd frames from untrusted bytes. Reuses its context: create one per thread.
class ZstdDecompressor {
 public:
  ZstdDecompressor();
  ~ZstdDecompressor();
  ZstdDecompressor(const ZstdDecompressor&) = delete;
  ZstdDecompressor& operator=(const ZstdDecompressor&) = delete;
  /// Replaces `out` by the frame's content. Throws CorruptFile, with `what`, unless `frame` is exactly one frame of
  /// exactly `expected_bytes`.
  void decompress(ByteView frame, std::uint64_t expected_bytes, Bytes& out, std::string_view what);

 private:
  void* context_;
};

}  // namespace quern
