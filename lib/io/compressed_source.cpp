#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <new>
#include <string>
#include <utility>

#include "quern/core/error.hpp"
#include "quern/core/size_text.hpp"
#include "quern/io/raw_source.hpp"

namespace quern {
namespace {

/// Name, offset and error messages, which both formats share.
class CompressedSource : public ByteSource {
 public:
  CompressedSource(std::unique_ptr<RawSource> stored, const char* form) : stored_(std::move(stored)), form_(form) {}
  const std::string& name() const override { return stored_->name(); }
  std::uint64_t compressed_bytes_read() const override { return stored_->offset(); }

 protected:
  [[noreturn]] void fail(const std::string& why) const {
    throw CorruptFile(name() + ": damaged " + form_ + " data at byte " + std::to_string(stored_->offset()) + ": " +
                      why);
  }
  [[noreturn]] void fail_cut() const {
    throw CorruptFile(name() + ": the " + form_ + " data ends too early, at byte " + std::to_string(stored_->offset()) +
                      "; the file is truncated: fetch or create it again");
  }

  std::unique_ptr<RawSource> stored_;

 private:
  const char* form_;
};

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
    while (!to.empty() && (in_member_ || begin_member())) {
      if (const std::size_t size = inflate_some(to)) return size;
    }
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
    if (status == Z_STREAM_END) {
      in_member_ = false;
    } else if (status != Z_OK && status != Z_BUF_ERROR) {
      fail(stream_.msg ? stream_.msg : "invalid deflate data");
    }
    return offered_out - stream_.avail_out;
  }

  /// Resets for the next member; false at the end of the file.
  bool begin_member() {
    const ByteView input = stored_->peek();
    if (input.size() >= 2 && input[0] == 0x1f && input[1] == 0x8b) {
      inflateReset(&stream_);
      return in_member_ = true;
    }
    if (!input.empty() && input[0] != 0) fail("other data follows it");
    skip_padding();
    return false;
  }

  /// Tapes and some tools fill the last block with zeros.
  void skip_padding() {
    for (ByteView input = stored_->peek(); !input.empty(); input = stored_->peek()) {
      if (std::any_of(input.begin(), input.end(), [](std::uint8_t byte) { return byte != 0; })) {
        fail("other data follows it");
      }
      stored_->skip(input.size());
    }
  }

  z_stream stream_{};
  bool in_member_ = true;
};

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
      // The context may still have the last bytes of a frame: the end is too early only once it returns none.
      if (bytes.empty() && output.pos == 0 && in_frame_) fail_cut();
    }
    return output.pos;
  }

 private:
  [[noreturn]] void refuse_window() const {
    const bool is_largest = window_log_ == max_window_log;
    throw InvalidArgument(name() + ": its zstd data takes a window of more than " +
                          size_text(std::uint64_t{1} << window_log_) + " of memory; " +
                          (is_largest ? "" : "raise --memory (1G is enough for any window that is read), or ") +
                          "compress it again without --long");
  }

  static constexpr int min_window_log = 10, max_window_log = 27;

  ZSTD_DCtx* context_;
  int window_log_ = 0;  ///< of the largest window that is read
  bool in_frame_ = true;
};

}  // namespace

std::unique_ptr<ByteSource> make_gzip_source(std::unique_ptr<RawSource> stored) {
  return std::make_unique<GzipSource>(std::move(stored));
}

std::unique_ptr<ByteSource> make_zstd_source(std::unique_ptr<RawSource> stored, std::uint64_t max_window_bytes) {
  return std::make_unique<ZstdSource>(std::move(stored), max_window_bytes);
}

}  // namespace quern
