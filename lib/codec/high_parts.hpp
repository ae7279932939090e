#pragma once
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include "quern/codec/bit_packing.hpp"
#include "quern/codec/codec.hpp"

/// The high parts of a run's exceptions as NewPFD has them: an array that may have exceptions in its turn, and a mask
/// that marks whose they are.
namespace quern {

/// How many of the first n bits are ones. May read 7 bytes after them.
inline std::uint32_t count_ones(const std::uint8_t* bytes, std::uint32_t n) {
  std::uint32_t ones = 0;
  std::uint64_t word;
  for (; n >= 64; n -= 64, bytes += 8) {
    std::memcpy(&word, bytes, sizeof word);
    ones += static_cast<std::uint32_t>(std::popcount(word));
  }
  if (n == 0) return ones;
  std::memcpy(&word, bytes, sizeof word);
  return ones + static_cast<std::uint32_t>(std::popcount(word << (64 - n)));
}

/// A mask that begins at any bit, copied to where a byte does.
class CopiedMask {
 public:
  /// Copies n bits, at most max_block_size, and zeros up to a multiple of 64, 64 bits at least. Returns how many are
  /// ones. Reads up to 16 bytes after them.
  std::uint32_t copy(const std::uint32_t* words, std::uint32_t bit, std::uint32_t n) {
    constexpr std::uint32_t at_once = 57;  // of a word, whose first byte may have 7 bits before them
    const char* from = reinterpret_cast<const char*>(words) + bit / 8;
    std::memcpy(words_.data(), from, sizeof words_[0]);
    words_[0] >>= bit % 8;
    if (n > at_once) return copy_many(from, bit % 8, n);
    words_[0] &= (std::uint64_t{1} << n) - 1;
    return static_cast<std::uint32_t>(std::popcount(words_[0]));
  }
  const std::uint8_t* bytes() const { return reinterpret_cast<const std::uint8_t*>(words_.data()); }

 private:
  [[gnu::noinline]] std::uint32_t copy_many(const char* from, unsigned shift, std::uint32_t n) {
    for (std::uint32_t i = 0; i < n; i += 64, from += 8) {
      std::uint64_t low;
      std::memcpy(&low, from, sizeof low);
      const std::uint64_t high = static_cast<unsigned char>(from[8]);
      words_[i / 64] = low >> shift | high << 1 << (63 - shift);
    }
    if (n % 64 != 0) words_[n / 64] &= (std::uint64_t{1} << n % 64) - 1;
    return count_ones(bytes(), n);
  }

  std::array<std::uint64_t, max_block_size / 64> words_;
};

/// The arrays below a run of values.
struct HighParts {
  static constexpr unsigned max_arrays = 3;

  struct Array {
    /// Bytes with a bit for each of the values above, from the lowest on: which of them have a high part. After them,
    /// up to a multiple of 64 bits, and 64 bits at least, come zeros; after 64 values and more, to a multiple of 32
    /// suffices.
    const std::uint8_t* mask;
    std::uint32_t above;  ///< values of the run or array above
    std::uint32_t size;   ///< values
    std::uint32_t width;  ///< bits of their slots, at most 14
    std::uint32_t slots_bit;

    bool has(unsigned i) const { return (mask[i / 8] >> i % 8 & 1) != 0; }
    /// How many of the values before value i above have a high part.
    std::uint32_t rank(unsigned i) const { return count_ones(mask, i); }
  };

  /// All of them: those that aren't there are empty, but have a mask and a place. High parts are below 2^15.
  std::array<Array, max_arrays> arrays;
};

/// Writes the high parts of the values above the first array to their places, 0 to the others: one by one.
inline void place_each_high(const std::uint32_t* words, const HighParts& parts, std::uint16_t* placed) {
  std::array<std::array<std::uint16_t, max_block_size>, HighParts::max_arrays> highs;
  for (unsigned of = HighParts::max_arrays; of-- > 0;) {
    const HighParts::Array& array = parts.arrays[of];
    for (unsigned i = 0, taken = 0; i < array.size; ++i) {
      std::uint32_t high = unpack_one(words, array.slots_bit + i * array.width, array.width) + 1;
      if (of + 1 < HighParts::max_arrays && parts.arrays[of + 1].above > 0 && parts.arrays[of + 1].has(i))
        high += std::uint32_t{highs[of + 1][taken++]} << array.width;
      highs[of][i] = static_cast<std::uint16_t>(high);
    }
  }
  const HighParts::Array& first = parts.arrays[0];
  for (unsigned i = 0, taken = 0; i < first.above; ++i) placed[i] = first.has(i) ? highs[0][taken++] : std::uint16_t{0};
}

}  // namespace quern
