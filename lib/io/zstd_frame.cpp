#include "quern/io/zstd_frame.hpp"

#include <zstd.h>

#include <new>

#include "quern/core/error.hpp"

namespace quern {

ZstdCompressor::ZstdCompressor(int level) : context_(ZSTD_createCCtx()), level_(level) {
  if (!context_) throw std::bad_alloc();
}

ZstdCompressor::~ZstdCompressor() { ZSTD_freeCCtx(static_cast<ZSTD_CCtx*>(context_)); }

void ZstdCompressor::append(ByteView from, Bytes& out) {
  const std::size_t before = out.size();
  out.resize(before + ZSTD_compressBound(from.size()));
  const std::size_t size = ZSTD_compressCCtx(static_cast<ZSTD_CCtx*>(context_), out.data() + before,
                                             out.size() - before, from.data(), from.size(), level_);
  if (ZSTD_isError(size)) throw Error(std::string("zstd can't compress: ") + ZSTD_getErrorName(size));
  out.resize(before + size);
}

ZstdDecompressor::ZstdDecompressor() : context_(ZSTD_createDCtx()) {
  if (!context_) throw std::bad_alloc();
}

ZstdDecompressor::~ZstdDecompressor() { ZSTD_freeDCtx(static_cast<ZSTD_DCtx*>(context_)); }

void ZstdDecompressor::decompress(ByteView frame, std::uint64_t expected_bytes, Bytes& out, std::string_view what) {
  const auto fail = [&](const char* why) { throw CorruptFile(std::string(what) + ": damaged zstd frame: " + why); };
  // The frame's own size must match before it bounds the allocation.
  if (ZSTD_getFrameContentSize(frame.data(), frame.size()) != expected_bytes) fail("unexpected size");
  if (ZSTD_findFrameCompressedSize(frame.data(), frame.size()) != frame.size()) fail("not exactly one complete frame");
  // A zstd block takes at least 4 bytes and holds at most 2^17: a larger ratio is impossible.
  if (expected_bytes > (std::uint64_t{frame.size()} << 15)) fail("impossible size");
  out.resize(expected_bytes);
  const std::size_t size =
      ZSTD_decompressDCtx(static_cast<ZSTD_DCtx*>(context_), out.data(), out.size(), frame.data(), frame.size());
  if (ZSTD_isError(size)) fail(ZSTD_getErrorName(size));
  if (size != expected_bytes) fail("unexpected size");
}

std::string zstd_version() { return ZSTD_versionString(); }

}  // namespace quern
