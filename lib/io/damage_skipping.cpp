#include "quern/io/damage_skipping.hpp"

#include <zlib.h>

#include <cstring>
#include <limits>
#include <new>

namespace quern {
namespace {

/// A file in another format than gzip.
class OtherSource final : public DamageSkippingSource {
 public:
  explicit OtherSource(std::unique_ptr<ByteSource> source) : source_(std::move(source)) {}
  std::size_t read(std::span<std::uint8_t> to) override { return source_->read(to); }
  const std::string& name() const override { return source_->name(); }
  std::uint64_t compressed_bytes_read() const override { return source_->compressed_bytes_read(); }
  std::optional<GzipDamage> take_damage() override { return std::nullopt; }

 private:
  std::unique_ptr<ByteSource> source_;
};

/// Whether a gzip member may begin here: the magic number, deflate, and no reserved flag.
bool may_begin_member(ByteView bytes) {
  return bytes.size() >= 4 && bytes[0] == 0x1f && bytes[1] == 0x8b && bytes[2] == 8 && bytes[3] < 0x20;
}

class GzipMembers final : public DamageSkippingSource {
 public:
  explicit GzipMembers(std::unique_ptr<RawSource> stored) : stored_(std::move(stored)) {
    constexpr int gzip_only = 16;
    if (inflateInit2(&stream_, MAX_WBITS + gzip_only) != Z_OK) throw std::bad_alloc();
    stored_->keep_behind(max_step_back);
  }
  ~GzipMembers() override { inflateEnd(&stream_); }
  GzipMembers(const GzipMembers&) = delete;
  GzipMembers& operator=(const GzipMembers&) = delete;

  std::size_t read(std::span<std::uint8_t> to) override {
    while (content_.empty() && !damage_ && (in_member_ || begin_member())) inflate_some();
    const std::size_t size = std::min(to.size(), content_.size());
    std::copy_n(content_.begin(), size, to.begin());
    content_ = content_.subspan(size);
    return size;
  }
  const std::string& name() const override { return stored_->name(); }
  std::uint64_t compressed_bytes_read() const override { return stored_->offset(); }
  std::optional<GzipDamage> take_damage() override { return std::exchange(damage_, std::nullopt); }

 private:
  /// False at the end of the file, and at anything but a member.
  bool begin_member() {
    ByteView input = stored_->peek();
    while (!input.empty() && input[0] == 0) {  // padding
      stored_->skip(static_cast<std::size_t>(
          std::find_if(input.begin(), input.end(), [](std::uint8_t byte) { return byte != 0; }) - input.begin()));
      input = stored_->peek();
    }
    if (input.empty()) return false;
    member_begin_ = stored_->offset();
    sound_bytes_ = content_bytes_;
    if (input.size() < 2 || input[0] != 0x1f || input[1] != 0x8b) {
      skip_damage("a gzip member should begin here");
      return false;
    }
    inflateReset(&stream_);
    return in_member_ = true;
  }

  /// Always inflates in steps of the same size: they determine how far zlib reads before it finds damage, and the
  /// result must not depend on the caller's buffer.
  void inflate_some() {
    const ByteView input = stored_->peek();
    if (input.empty()) return skip_damage("a truncated gzip member");
    constexpr std::size_t max_bytes = std::numeric_limits<uInt>::max();
    stream_.next_in = const_cast<Bytef*>(input.data());
    stream_.avail_in = static_cast<uInt>(std::min(input.size(), max_bytes));
    stream_.next_out = buffer_.data();
    stream_.avail_out = static_cast<uInt>(buffer_.size());
    const uInt offered_in = stream_.avail_in;
    const int status = inflate(&stream_, Z_NO_FLUSH);
    stored_->skip(offered_in - stream_.avail_in);
    content_ = ByteView(buffer_).first(buffer_.size() - stream_.avail_out);
    content_bytes_ += content_.size();
    if (status == Z_STREAM_END)
      in_member_ = false;
    else if (status != Z_OK && status != Z_BUF_ERROR)
      skip_damage("a damaged gzip member");
  }

  /// Skips to the next possible member. Inflating damage may have passed it, so the search begins right after the
  /// damaged member's first byte, as far as bytes are kept, but never searches the same bytes twice.
  void skip_damage(const char* reason) {
    damage_ = {member_begin_, sound_bytes_, reason};
    in_member_ = false;
    content_bytes_ = 0;
    const std::uint64_t here = stored_->offset();
    const std::uint64_t kept_from = here - std::min<std::uint64_t>(here, max_step_back);
    const std::uint64_t from = std::max({member_begin_ + 1, kept_from, std::min(here, searched_to_)});
    searched_to_ = std::max(searched_to_, here);
    if (from < here)
      stored_->go_back(static_cast<std::size_t>(here - from));
    else if (from > here)
      stored_->skip(1);  // the first byte of the foreign data
    find_member();
  }

  void find_member() {
    for (ByteView bytes = stored_->peek(); !bytes.empty(); bytes = stored_->peek()) {
      const std::uint8_t* const end = bytes.data() + bytes.size();
      const std::uint8_t* at = bytes.data();
      while ((at = static_cast<const std::uint8_t*>(std::memchr(at, 0x1f, static_cast<std::size_t>(end - at))))) {
        const ByteView rest(at, end);
        if (may_begin_member(rest)) {
          stored_->skip(static_cast<std::size_t>(at - bytes.data()));
          return;
        }
        if (rest.size() < 4) break;  // the rest may follow
        ++at;
      }
      // Near the end of the file, too few bytes are left for a member.
      const bool is_undecided = at != nullptr && at != bytes.data();
      stored_->skip(is_undecided ? static_cast<std::size_t>(at - bytes.data()) : bytes.size());
    }
  }

  static constexpr std::size_t max_step_back = 128 << 10;

  std::unique_ptr<RawSource> stored_;
  z_stream stream_{};
  Bytes buffer_ = Bytes(64 << 10);
  ByteView content_;  ///< the unread part of the buffer
  bool in_member_ = false;
  std::uint64_t member_begin_ = 0;
  std::uint64_t content_bytes_ = 0;  ///< since the last damage
  std::uint64_t sound_bytes_ = 0;    ///< of these, the bytes before the current member
  std::uint64_t searched_to_ = 0;
  std::optional<GzipDamage> damage_;
};

std::unique_ptr<DamageSkippingSource> skipping_damage(std::unique_ptr<RawSource> stored,
                                                      std::uint64_t max_window_bytes) {
  const ByteView head = stored->peek();
  if (head.size() >= 2 && head[0] == 0x1f && head[1] == 0x8b) return std::make_unique<GzipMembers>(std::move(stored));
  return std::make_unique<OtherSource>(decompressing(std::move(stored), max_window_bytes));
}

}  // namespace

std::unique_ptr<DamageSkippingSource> DamageSkippingSource::open(const std::string& path,
                                                                 const ReadInterrupt* interrupt,
                                                                 std::uint64_t max_window_bytes) {
  return skipping_damage(RawSource::open(path, interrupt), max_window_bytes);
}

std::unique_ptr<DamageSkippingSource> DamageSkippingSource::from_memory(std::string name, std::string bytes) {
  return skipping_damage(RawSource::from_memory(std::move(name), std::move(bytes)), default_max_window_bytes);
}

}  // namespace quern
