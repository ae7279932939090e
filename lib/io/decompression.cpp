#include <bzlib.h>
#include <fmt/format.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <bit>
#include <limits>
#include <new>

#include "quern/core/bytes.hpp"
#include "quern/io/byte_source.hpp"

namespace quern {
namespace {

bool begins_with(ByteView bytes, std::string_view magic) { return as_text(bytes).starts_with(magic); }

/// Whether a file of at least four bytes begins with `magic`, as far as it goes.
bool may_begin_with(ByteView bytes, std::string_view magic) {
  return bytes.size() >= 4 && as_text(bytes).substr(0, magic.size()) == magic.substr(0, bytes.size());
}

bool is_gzip(ByteView head) { return begins_with(head, "\x1f\x8b"); }

/// Accepts a skippable frame too, since parallel compressors write one first.
bool is_zstd(ByteView head) {
  return begins_with(head, "\x28\xb5\x2f\xfd") ||
         (head.size() >= 4 && (head[0] & 0xf0) == 0x50 && begins_with(head.subspan(1), "\x2a\x4d\x18"));
}

/// "BZh", a digit, and the mark of a block or of the stream's end.
bool is_bzip2(ByteView head) {
  if (!may_begin_with(head, "BZh") || head[3] < '1' || head[3] > '9') return false;
  const std::string_view mark = as_text(head).substr(4, 6);
  return std::string_view("1AY&SY").starts_with(mark) || std::string_view("\x17rE8P\x90").starts_with(mark);
}

bool is_xz(ByteView head) {
  return may_begin_with(head, {"\xfd"
                               "7zXZ\0",
                               6});
}

/// The magic number, and codes of 9 to 16 bits.
bool is_lzw(ByteView head) {
  return begins_with(head, "\x1f\x9d") && head.size() > 2 && (head[2] & 0x60) == 0 && (head[2] & 0x1f) >= 9 &&
         (head[2] & 0x1f) <= 16;
}

/// The name, offset and error messages of all compressed formats.
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

/// The content of consecutive members: of gzip (RFC 1952), or streams of bzip2 or xz.
class MemberSource : public CompressedSource {
 public:
  using CompressedSource::CompressedSource;

  std::size_t read(std::span<std::uint8_t> to) override {
    // The libraries count with 32 bits.
    to = to.first(std::min<std::size_t>(to.size(), std::numeric_limits<unsigned>::max()));
    while (!to.empty() && (in_member_ || begin_member())) {
      const ByteView input = stored_->peek();
      if (input.empty()) fail_cut();
      std::size_t taken = 0, given = 0;
      in_member_ = !decode(input, to, taken, given);
      stored_->skip(taken);
      if (!problem_.empty()) fail(problem_);
      if (given > 0) return given;
    }
    return 0;
  }

 protected:
  /// Decodes from `input` to `to`, both not empty, and counts the bytes; true at the end of the member. Sets problem_
  /// if the data is damaged.
  virtual bool decode(ByteView input, std::span<std::uint8_t> to, std::size_t& taken, std::size_t& given) = 0;
  virtual bool begins_member(ByteView head) const = 0;
  virtual void restart() = 0;

  std::string problem_;

 private:
  /// False at the end of the file. Tapes and some tools pad the last block with zeros.
  bool begin_member() {
    ByteView input = stored_->peek();
    for (; !input.empty() && input[0] == 0; input = stored_->peek())
      stored_->skip(static_cast<std::size_t>(
          std::find_if(input.begin(), input.end(), [](std::uint8_t byte) { return byte != 0; }) - input.begin()));
    if (input.empty()) return false;
    if (!begins_member(input)) fail("extra data follows the compressed data");
    restart();
    return in_member_ = true;
  }

  bool in_member_ = false;
};

class GzipSource final : public MemberSource {
 public:
  explicit GzipSource(std::unique_ptr<RawSource> stored) : MemberSource(std::move(stored), "gzip") {
    constexpr int gzip_only = 16;
    if (inflateInit2(&stream_, MAX_WBITS + gzip_only) != Z_OK) throw std::bad_alloc();
  }
  ~GzipSource() override { inflateEnd(&stream_); }
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;

 private:
  bool begins_member(ByteView head) const override { return is_gzip(head); }
  void restart() override { inflateReset(&stream_); }
  bool decode(ByteView input, std::span<std::uint8_t> to, std::size_t& taken, std::size_t& given) override {
    stream_.next_in = const_cast<Bytef*>(input.data());
    stream_.avail_in = static_cast<uInt>(input.size());
    stream_.next_out = to.data();
    stream_.avail_out = static_cast<uInt>(to.size());
    const int status = inflate(&stream_, Z_NO_FLUSH);
    taken = input.size() - stream_.avail_in;
    given = to.size() - stream_.avail_out;
    if (status != Z_OK && status != Z_BUF_ERROR && status != Z_STREAM_END)
      problem_ = stream_.msg ? stream_.msg : "invalid deflate data";
    return status == Z_STREAM_END;
  }

  z_stream stream_{};
};

class Bzip2Source final : public MemberSource {
 public:
  explicit Bzip2Source(std::unique_ptr<RawSource> stored) : MemberSource(std::move(stored), "bzip2") {}
  ~Bzip2Source() override { BZ2_bzDecompressEnd(&stream_); }
  Bzip2Source(const Bzip2Source&) = delete;
  Bzip2Source& operator=(const Bzip2Source&) = delete;

 private:
  bool begins_member(ByteView head) const override { return is_bzip2(head); }
  void restart() override {
    BZ2_bzDecompressEnd(&stream_);
    stream_ = {};
    if (BZ2_bzDecompressInit(&stream_, 0, 0) != BZ_OK) throw std::bad_alloc();
  }
  bool decode(ByteView input, std::span<std::uint8_t> to, std::size_t& taken, std::size_t& given) override {
    stream_.next_in = reinterpret_cast<char*>(const_cast<std::uint8_t*>(input.data()));
    stream_.avail_in = static_cast<unsigned>(input.size());
    stream_.next_out = reinterpret_cast<char*>(to.data());
    stream_.avail_out = static_cast<unsigned>(to.size());
    const int status = BZ2_bzDecompress(&stream_);
    if (status == BZ_MEM_ERROR) throw std::bad_alloc();
    taken = input.size() - stream_.avail_in;
    given = to.size() - stream_.avail_out;
    if (status != BZ_OK && status != BZ_STREAM_END) problem_ = "invalid data or a wrong checksum";
    return status == BZ_STREAM_END;
  }

  bz_stream stream_{};
};

class XzSource final : public MemberSource {
 public:
  XzSource(std::unique_ptr<RawSource> stored, std::uint64_t max_window_bytes)
      : MemberSource(std::move(stored), "xz"), max_memory_bytes_(max_window_bytes + besides_window) {}
  ~XzSource() override { lzma_end(&stream_); }
  XzSource(const XzSource&) = delete;
  XzSource& operator=(const XzSource&) = delete;

 private:
  bool begins_member(ByteView head) const override { return is_xz(head); }
  void restart() override {
    if (lzma_stream_decoder(&stream_, max_memory_bytes_, 0) != LZMA_OK) throw std::bad_alloc();
  }
  bool decode(ByteView input, std::span<std::uint8_t> to, std::size_t& taken, std::size_t& given) override {
    stream_.next_in = input.data();
    stream_.avail_in = input.size();
    stream_.next_out = to.data();
    stream_.avail_out = to.size();
    const lzma_ret status = lzma_code(&stream_, LZMA_RUN);
    if (status == LZMA_MEM_ERROR) throw std::bad_alloc();
    if (status == LZMA_MEMLIMIT_ERROR) refuse_window();
    taken = input.size() - stream_.avail_in;
    given = to.size() - stream_.avail_out;
    if (status == LZMA_OPTIONS_ERROR)
      problem_ = "it uses filters or options that this version of liblzma doesn't know";
    else if (status != LZMA_OK && status != LZMA_STREAM_END)
      problem_ = "invalid data or a wrong checksum";
    return status == LZMA_STREAM_END;
  }
  [[noreturn]] void refuse_window() const {
    throw InvalidArgument(
        "{}: its xz data needs {} of memory, of which {} may be used; raise {} to {}, or compress it "
        "again with a smaller dictionary, such as that of xz -6",
        name(), size_text(lzma_memusage(&stream_)), size_text(max_memory_bytes_), option_name<"memory">,
        size_text(4 * lzma_memusage(&stream_)));
  }

  static constexpr std::uint64_t besides_window = std::uint64_t{1} << 20;

  lzma_stream stream_ = LZMA_STREAM_INIT;
  std::uint64_t max_memory_bytes_;
};

using ZstdContext = std::unique_ptr<ZSTD_DCtx, std::size_t (*)(ZSTD_DCtx*)>;

ZstdContext make_zstd_context(int window_log) {
  ZstdContext context(ZSTD_createDCtx(), ZSTD_freeDCtx);
  if (!context) throw std::bad_alloc();
  ZSTD_DCtx_setParameter(context.get(), ZSTD_d_windowLogMax, window_log);
  return context;
}

/// The content of a zstd file (RFC 8878): all frames, concatenated. A dictionary in a skippable frame, as in WARC
/// files, serves the frames after it (IIPC: "WARC File Compression 1.0 for Zstandard").
class ZstdSource final : public CompressedSource {
 public:
  ZstdSource(std::unique_ptr<RawSource> stored, std::uint64_t max_window_bytes)
      : CompressedSource(std::move(stored), "zstd"),
        window_log_(std::clamp(static_cast<int>(std::bit_width(max_window_bytes)) - 1, min_window_log, max_window_log)),
        max_dictionary_bytes_(std::min<std::uint64_t>(max_window_bytes / 4, 16 << 20)),
        context_(make_zstd_context(window_log_)) {}

  std::size_t read(std::span<std::uint8_t> to) override {
    if (to.empty()) return 0;
    ZSTD_outBuffer output{to.data(), to.size(), 0};
    while (output.pos == 0) {
      if (!in_frame_) take_dictionary();
      const ByteView bytes = stored_->peek();
      if (bytes.empty() && !in_frame_) return 0;
      ZSTD_inBuffer input{bytes.data(), bytes.size(), 0};
      const std::size_t status = ZSTD_decompressStream(context_.get(), &output, &input);
      stored_->skip(input.pos);
      if (ZSTD_isError(status)) refuse(status);
      in_frame_ = status != 0;
      // The context may still hold the last bytes of a frame: the data is truncated only once it returns none.
      if (bytes.empty() && output.pos == 0 && in_frame_) fail_cut();
    }
    return output.pos;
  }

 private:
  [[noreturn]] void refuse(std::size_t status) const {
    const ZSTD_ErrorCode code = ZSTD_getErrorCode(status);
    if (code == ZSTD_error_frameParameter_windowTooLarge) refuse_window();
    if (code == ZSTD_error_dictionary_wrong)
      throw InvalidArgument(
          "{}: its zstd data, at byte {}, needs a dictionary that isn't in the file, or is larger than {}; decompress "
          "it first, with zstd -d -D DICTIONARY",
          name(), stored_->offset(), size_text(max_dictionary_bytes_));
    fail(ZSTD_getErrorName(status));
  }
  [[noreturn]] void refuse_window() const {
    const bool is_largest = window_log_ == max_window_log;
    throw InvalidArgument(
        name() + ": its zstd data needs a window of more than " + size_text(std::uint64_t{1} << window_log_) +
        " of memory; " +
        (is_largest ? ""
                    : fmt::format("raise {} (1G is enough for any supported window), or ", option_name<"memory">)) +
        "compress it again with a smaller window");
  }

  /// Takes a skippable frame that may hold a dictionary, plain or compressed. Leaves a frame that is too large for one.
  void take_dictionary() {
    constexpr std::size_t header_bytes = 8;
    const ByteView head = stored_->peek();
    if (head.size() < header_bytes || !begins_with(head, "\x5d\x2a\x4d\x18")) return;
    const std::uint32_t size = load_le<std::uint32_t>(head.data() + 4);
    if (size > max_dictionary_bytes_) return;
    stored_->skip(header_bytes);
    Bytes content = take(size);
    if (is_zstd(content)) content = unpacked(content);
    if (!begins_with(content, "\x37\xa4\x30\xec")) return;
    if (ZSTD_isError(ZSTD_DCtx_loadDictionary(context_.get(), content.data(), content.size())))
      fail("an invalid dictionary");
  }

  Bytes take(std::size_t size) {
    Bytes bytes;
    while (bytes.size() < size) {
      const ByteView input = stored_->peek();
      if (input.empty()) fail_cut();
      const std::size_t taken = std::min(size - bytes.size(), input.size());
      bytes.insert(bytes.end(), input.begin(), input.begin() + static_cast<std::ptrdiff_t>(taken));
      stored_->skip(taken);
    }
    return bytes;
  }

  /// The first bytes of a frame's content, up to its end, damage, or max_dictionary_bytes_ and a step.
  Bytes unpacked(ByteView frame) const {
    const ZstdContext context = make_zstd_context(window_log_);
    Bytes content;
    ZSTD_inBuffer input{frame.data(), frame.size(), 0};
    for (std::size_t got = step_bytes; got == step_bytes && content.size() < max_dictionary_bytes_;) {
      const std::size_t before = content.size();
      content.resize(before + step_bytes);
      ZSTD_outBuffer output{content.data() + before, step_bytes, 0};
      const bool is_damaged = ZSTD_isError(ZSTD_decompressStream(context.get(), &output, &input)) != 0;
      got = is_damaged ? 0 : output.pos;
      content.resize(before + got);
    }
    return content;
  }

  static constexpr std::size_t step_bytes = 64 << 10;
  static constexpr int min_window_log = 10, max_window_log = 27;

  int window_log_;  ///< the largest accepted window
  std::uint64_t max_dictionary_bytes_;
  ZstdContext context_;
  bool in_frame_ = false;
};

/// The content of a file of compress(1): LZW with codes of 9 bits and more. It has neither a length nor a checksum.
class LzwSource final : public CompressedSource {
 public:
  explicit LzwSource(std::unique_ptr<RawSource> stored) : CompressedSource(std::move(stored), "compress (.Z)") {
    const std::uint8_t flags = stored_->peek()[2];
    stored_->skip(3);
    max_bits_ = flags & 0x1f;
    if (max_bits_ == min_bits)
      throw InvalidArgument(
          "{}: its compress (.Z) data has codes of 9 bits only, which some programs write with errors; compress it "
          "again",
          name());
    has_clear_ = (flags & 0x80) != 0;
    free_ = first_free();
    prefix_.resize(std::size_t{1} << max_bits_);
    last_byte_.resize(prefix_.size());
    text_.resize(prefix_.size() + 2);
  }

  std::size_t read(std::span<std::uint8_t> to) override {
    std::size_t size = 0;
    while (size < to.size() && (!left_.empty() || take_code())) {
      const std::size_t more = std::min(to.size() - size, left_.size());
      std::copy_n(left_.begin(), more, to.begin() + static_cast<std::ptrdiff_t>(size));
      left_ = left_.subspan(more);
      size += more;
    }
    return size;
  }

 private:
  static constexpr unsigned min_bits = 9, group = 8;
  static constexpr std::uint32_t clear = 256, none = ~std::uint32_t{0};

  std::uint32_t first_free() const { return has_clear_ ? clear + 1 : clear; }

  /// Decodes the next code to left_, perhaps to nothing; false at the end of the file.
  bool take_code() {
    if (free_ == std::uint32_t{1} << bits_ && bits_ < max_bits_) change_bits(bits_ + 1);
    if (!fill(bits_)) return false;
    const std::uint32_t code = drop(bits_);
    ++codes_;
    if (has_clear_ && code == clear) {
      change_bits(min_bits);
      free_ = first_free();
      previous_ = none;
    } else {
      decode(code);
    }
    return true;
  }

  void decode(std::uint32_t code) {
    if (previous_ == none ? code >= clear : code > free_) fail("an invalid code");
    std::size_t begin = text_.size();
    std::uint32_t rest = code;
    if (previous_ != none && code == free_) {  // the entry that this code completes
      text_[--begin] = first_byte_;
      rest = previous_;
    }
    for (; rest >= clear; rest = prefix_[rest]) text_[--begin] = last_byte_[rest];
    text_[--begin] = first_byte_ = static_cast<std::uint8_t>(rest);
    left_ = ByteView(text_).subspan(begin);
    if (previous_ != none && free_ < prefix_.size()) {
      prefix_[free_] = static_cast<std::uint16_t>(previous_);
      last_byte_[free_++] = first_byte_;
    }
    previous_ = code;
  }

  /// Codes of one width are written in groups of eight; the rest of the last group is padding.
  void change_bits(unsigned bits) {
    for (; codes_ % group != 0 && fill(bits_); ++codes_) drop(bits_);
    codes_ = 0;
    bits_ = bits;
  }

  bool fill(unsigned bits) {
    for (; num_waiting_ < bits; num_waiting_ += 8) {
      if (taken_ == input_.size()) {
        stored_->skip(std::exchange(taken_, 0));
        input_ = stored_->peek();
        if (input_.empty()) return false;
      }
      waiting_ |= std::uint32_t{input_[taken_++]} << num_waiting_;
    }
    return true;
  }
  std::uint32_t drop(unsigned bits) {
    const std::uint32_t code = waiting_ & ((std::uint32_t{1} << bits) - 1);
    waiting_ >>= bits;
    num_waiting_ -= bits;
    return code;
  }

  unsigned max_bits_ = 0;
  bool has_clear_ = false;  ///< code 256 empties the table
  unsigned bits_ = min_bits;
  std::uint64_t codes_ = 0;  ///< of this width
  ByteView input_;
  std::size_t taken_ = 0;  ///< of input_
  std::uint32_t waiting_ = 0;
  unsigned num_waiting_ = 0;  ///< bits

  std::uint32_t free_ = 0;  ///< the next code of the table
  std::uint32_t previous_ = none;
  std::uint8_t first_byte_ = 0;  ///< of the previous code
  std::vector<std::uint16_t> prefix_;
  Bytes last_byte_;
  Bytes text_;     ///< the last code's text, at its end
  ByteView left_;  ///< the unread part of it
};

}  // namespace

std::unique_ptr<ByteSource> decompressing(std::unique_ptr<RawSource> stored, std::uint64_t max_window_bytes) {
  const ByteView head = stored->peek();
  if (is_gzip(head)) return std::make_unique<GzipSource>(std::move(stored));
  if (is_zstd(head)) return std::make_unique<ZstdSource>(std::move(stored), max_window_bytes);
  if (is_bzip2(head)) return std::make_unique<Bzip2Source>(std::move(stored));
  if (is_xz(head)) return std::make_unique<XzSource>(std::move(stored), max_window_bytes);
  if (is_lzw(head)) return std::make_unique<LzwSource>(std::move(stored));
  return stored;
}

bool is_compressed(ByteView head) {
  return is_gzip(head) || is_zstd(head) || is_bzip2(head) || is_xz(head) || is_lzw(head);
}

}  // namespace quern
