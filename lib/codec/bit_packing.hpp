#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

/// Horizontal packing: values of one width b (0 to 32) one after another, low bits first, in little-endian 32-bit
/// words. A run of values may begin at any bit. It is the one layout of slots in all codecs, on CPU and GPU.
namespace quern {

/// Words that `bits` bits take.
constexpr std::uint64_t words_of_bits(std::uint64_t bits) { return (bits + 31) / 32; }

/// The low `width` bits, width 0 to 32.
constexpr std::uint32_t low_mask(unsigned width) { return static_cast<std::uint32_t>((std::uint64_t{1} << width) - 1); }

/// The value of `width` bits (0 to 32) at `bit_offset`. Reads at most 7 bytes past its last bit.
inline std::uint32_t unpack_one(const std::uint32_t* words, std::uint64_t bit_offset, unsigned width) {
  std::uint64_t window;
  std::memcpy(&window, reinterpret_cast<const char*>(words) + bit_offset / 8, sizeof window);
  return static_cast<std::uint32_t>(window >> (bit_offset % 8)) & low_mask(width);
}

/// Words after the last written one that pack() and BitAppender may overwrite (with zeros).
inline constexpr std::size_t pack_slack_words = 2;

/// Writes bits one after another from any bit on. Keeps the bits before; overwrites up to pack_slack_words words after,
/// or parts of them, with zeros. So write runs in ascending order.
class BitAppender {
 public:
  BitAppender(std::uint32_t* words, std::uint64_t bit_offset)
      : to_(reinterpret_cast<char*>(words) + bit_offset / 8), pending_bits_(bit_offset % 8) {
    pending_ = static_cast<unsigned char>(*to_) & low_mask(pending_bits_);
  }

  /// The `count` bits of `bits`, count 0 to 56, no bit set above them.
  void append(std::uint64_t bits, unsigned count) {
    pending_ |= bits << pending_bits_;
    pending_bits_ += count;
    std::memcpy(to_, &pending_, sizeof pending_);
    to_ += pending_bits_ / 8;
    pending_ >>= pending_bits_ & ~7u;
    pending_bits_ %= 8;
  }

 private:
  char* to_;
  std::uint64_t pending_ = 0;
  unsigned pending_bits_;
};

/// Packs the low `width` bits of each of n values from `bit_offset` on, as BitAppender does.
void pack(const std::uint32_t* values, unsigned n, unsigned width, std::uint32_t* words, std::uint64_t bit_offset);

}  // namespace quern
