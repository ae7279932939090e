#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "quern/core/types.hpp"

namespace quern {

/// Compresses to single zstd frames; reuses its context, so create one per thread.
class ZstdCompressor {
 public:
  explicit ZstdCompressor(int level = 1);
  ~ZstdCompressor();
  ZstdCompressor(const ZstdCompressor&) = delete;
  ZstdCompressor& operator=(const ZstdCompressor&) = delete;
  /// Appends one frame, which records its content size, to `out`.
  void append(ByteView from, Bytes& out);

 private:
  void* context_;
  int level_;
};

/// Version of the library that compresses, when the program runs: other versions may make other frames.
std::string zstd_version();

/// Decompresses single zstd frames of untrusted bytes; reuses its context, so create one per thread.
class ZstdDecompressor {
 public:
  ZstdDecompressor();
  ~ZstdDecompressor();
  ZstdDecompressor(const ZstdDecompressor&) = delete;
  ZstdDecompressor& operator=(const ZstdDecompressor&) = delete;
  /// Replaces `out` by the content of the frame. Throws CorruptFile, with `what`, unless `frame` is exactly one frame
  /// of exactly `expected_bytes`.
  void decompress(ByteView frame, std::uint64_t expected_bytes, Bytes& out, std::string_view what);

 private:
  void* context_;
};

}  // namespace quern
