#pragma once
#include <bit>
#include <cstring>

#include "quern/codec/codec.hpp"
#include "quern/codec/kernels.hpp"

/// Horizontal packing: consecutive values of one width b (0 to 32), low bits first, in little-endian 32-bit words. A
/// run of values may begin at any bit. All codecs store their slots in this layout, on CPU and GPU.
namespace quern {

/// Words needed for `bits` bits.
constexpr std::uint64_t words_of_bits(std::uint64_t bits) { return (bits + 31) / 32; }

/// A mask of the low `width` bits, width 0 to 32.
constexpr std::uint32_t low_mask(unsigned width) { return static_cast<std::uint32_t>((std::uint64_t{1} << width) - 1); }

/// The value of `width` bits (0 to 32) at `bit_offset`. Reads at most 7 bytes past its last bit.
inline std::uint32_t unpack_one(const std::uint32_t* words, std::uint64_t bit_offset, unsigned width) {
  std::uint64_t window;
  std::memcpy(&window, reinterpret_cast<const char*>(words) + bit_offset / 8, sizeof window);
  return static_cast<std::uint32_t>(window >> (bit_offset % 8)) & low_mask(width);
}

/// Words after the last written one that pack() and BitAppender may overwrite with zeros.
inline constexpr std::size_t pack_slack_words = 2;

/// Appends bits from any bit offset on. Keeps the bits before it; may zero up to pack_slack_words words after the last
/// bit, so write runs in ascending order.
class BitAppender {
 public:
  BitAppender(std::uint32_t* words, std::uint64_t bit_offset)
      : to_(reinterpret_cast<char*>(words) + bit_offset / 8), pending_bits_(bit_offset % 8) {
    pending_ = static_cast<unsigned char>(*to_) & low_mask(pending_bits_);
  }

  /// Appends the low `count` bits of `bits`, count 0 to 56; higher bits must be zero.
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

/// Packs the low `width` bits of each of n values from `bit_offset` on, with BitAppender's contract.
void pack(const std::uint32_t* values, unsigned n, unsigned width, std::uint32_t* words, std::uint64_t bit_offset);

// The high parts of a run's exceptions in maskpfd: an array that may have exceptions itself, and a mask that marks the
// values with a high part.

/// Number of ones among the first n bits. May read 7 bytes past them.
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

/// A byte-aligned copy of a mask that begins at any bit, zero-padded to a multiple of 64 bits and to at least 64.
class CopiedMask {
 public:
  /// Copies n bits, at most max_block_size, and returns the number of ones. Reads up to 9 bytes past the bits.
  std::uint32_t copy(const std::uint32_t* words, std::uint32_t bit, std::uint32_t n) {
    std::uint32_t ones = 0;
    std::uint64_t* to = words_.data();
    for (; n > 64; n -= 64, bit += 64) ones += put(*to++, words, bit, 64);
    return ones + put(*to, words, bit, n);
  }
  const std::uint8_t* bytes() const { return reinterpret_cast<const std::uint8_t*>(words_.data()); }

 private:
  static std::uint32_t put(std::uint64_t& to, const std::uint32_t* words, std::uint32_t bit, std::uint32_t n) {
    const char* from = reinterpret_cast<const char*>(words) + bit / 8;
    std::uint64_t low, high;
    std::memcpy(&low, from, sizeof low);
    std::memcpy(&high, from + 1, sizeof high);
    to = low >> bit % 8 | high << (8 - bit % 8);
    if (n < 64) to &= (std::uint64_t{1} << n) - 1;
    return static_cast<std::uint32_t>(std::popcount(to));
  }

  std::array<std::uint64_t, max_block_size / 64> words_;
};

/// The arrays of high parts below a run of values.
struct HighParts {
  static constexpr unsigned max_arrays = 3;

  struct Array {
    /// One bit for each of the values above, lowest first: whether it has a high part. Zero-padded to a multiple of 64
    /// bits and to at least 64 bits; for 64 values and more, a multiple of 32 bits suffices.
    const std::uint8_t* mask;
    std::uint32_t above;  ///< number of values in the run or array above
    std::uint32_t size;   ///< number of values
    std::uint32_t width;  ///< slot width in bits, at most 14
    std::uint32_t slots_bit;

    bool has(unsigned i) const { return (mask[i / 8] >> i % 8 & 1) != 0; }
    /// How many of the first i values above have a high part.
    std::uint32_t rank(unsigned i) const { return count_ones(mask, i); }
  };

  /// Missing arrays are empty, but have a valid mask and position. High parts are below 2^15.
  std::array<Array, max_arrays> arrays;
};

/// Writes the high part of each value above the first array to its position, 0 if it has none. The scalar reference.
inline void place_each_high(const std::uint32_t* words, const HighParts& parts, std::uint16_t* placed) {
  std::array<std::array<std::uint16_t, max_block_size>, HighParts::max_arrays> highs;
  for (unsigned index = HighParts::max_arrays; index-- > 0;) {
    const HighParts::Array& array = parts.arrays[index];
    for (unsigned i = 0, taken = 0; i < array.size; ++i) {
      std::uint32_t high = unpack_one(words, array.slots_bit + i * array.width, array.width) + 1;
      if (index + 1 < HighParts::max_arrays && parts.arrays[index + 1].above > 0 && parts.arrays[index + 1].has(i))
        high += std::uint32_t{highs[index + 1][taken++]} << array.width;
      highs[index][i] = static_cast<std::uint16_t>(high);
    }
  }
  const HighParts::Array& first = parts.arrays[0];
  for (unsigned i = 0, taken = 0; i < first.above; ++i) placed[i] = first.has(i) ? highs[0][taken++] : std::uint16_t{0};
}

// Shared by the kernels of all SIMD levels.

/// The bits from `bit` on, at least 57 of them.
inline std::uint64_t bits_from(const std::uint32_t* words, std::uint64_t bit) {
  std::uint64_t window;
  std::memcpy(&window, reinterpret_cast<const char*>(words) + bit / 8, sizeof window);
  return window >> bit % 8;
}

/// The mask's bits for values i to i + 31.
inline std::uint32_t mask_of_32(const HighParts::Array& array, unsigned i) {
  std::uint32_t mask;
  std::memcpy(&mask, array.mask + i / 8, sizeof mask);
  return mask;
}

/// Buffers for the high parts of each array, with space for a register's overrun.
using HighBuffers = std::array<std::array<std::uint16_t, max_block_size + 32>, HighParts::max_arrays>;

// Unary numbers in a bit string, low bits first: q ones, then a zero, the number's terminator.

/// Positions past the requested n that find_terminators may write.
inline constexpr unsigned unary_slack = 72;

/// Scalar Kernels::find_terminators, for bit strings of any length.
template <class Position>
bool find_each_terminator(const std::uint32_t* words, std::uint64_t bit_offset, std::uint64_t bits, unsigned n,
                          Position* positions) {
  constexpr unsigned step = 32;
  unsigned found = 0;
  for (std::uint64_t at = 0; at < bits && found < n; at += step) {
    auto terminators = static_cast<std::uint32_t>(~bits_from(words, bit_offset + at));
    for (; terminators != 0; terminators &= terminators - 1)
      positions[found++] = static_cast<Position>(at + static_cast<unsigned>(std::countr_zero(terminators)));
  }
  return found >= n && positions[n - 1] < bits;
}

/// The unary number that ends at terminator i.
template <class Position>
std::uint32_t quotient_at(const Position* positions, unsigned i) {
  return static_cast<Position>(positions[i] - positions[static_cast<int>(i) - 1] - 1);
}

/// The sum of the unary numbers up to terminator i: all bits before it except i terminators are ones.
template <class Position>
std::uint32_t summed_quotient_at(const Position* positions, unsigned i) {
  return static_cast<Position>(positions[i] - i);
}

/// Scalar Kernels::add_quotients, for positions of any size.
template <class Position>
void add_each_quotient(const Position* positions, unsigned width, unsigned n, std::uint32_t* out) {
  for (unsigned i = 0; i < n; ++i) out[i] += quotient_at(positions, i) << width;
}

/// Scalar Kernels::add_summed_quotients, for positions of any size.
template <class Position>
void add_each_summed_quotient(const Position* positions, unsigned width, unsigned n, std::uint32_t* out) {
  for (unsigned i = 0; i < n; ++i) out[i] += summed_quotient_at(positions, i) << width;
}

// Quantized impacts of a posting list: values of one width, in the list's blocks, each block starting at a word
// boundary, so that a block's offset is one multiplication.

/// The width for a list whose largest impact is `greatest`.
constexpr unsigned impact_width_of(std::uint32_t greatest) { return static_cast<unsigned>(std::bit_width(greatest)); }

/// Words of a block of n impacts.
constexpr std::size_t impact_words(unsigned n, unsigned width) { return words_of_bits(std::uint64_t{n} * width); }

/// Words of a list of `df` impacts.
constexpr std::uint64_t impact_list_words(std::uint64_t df, unsigned block_size, unsigned width) {
  return df / block_size * impact_words(block_size, width) +
         impact_words(static_cast<unsigned>(df % block_size), width);
}

/// Appends a block. `width` is 1 to 16; no value is wider.
inline void put_impacts(std::span<const std::uint32_t> impacts, unsigned width, Words& out) {
  const std::size_t from = out.size(), words = impact_words(static_cast<unsigned>(impacts.size()), width);
  out.resize(from + words + pack_slack_words);
  pack(impacts.data(), static_cast<unsigned>(impacts.size()), width, out.data() + from, 0);
  out.resize(from + words);
}

/// The impacts of a block. `list` is PostingList::impacts.
inline const std::uint32_t* impact_block(WordView list, unsigned width, unsigned block_size, std::size_t block) {
  return list.data() + block * impact_words(block_size, width);
}

/// Unpacks the n impacts of a block at the best SimdLevel; writes up to unpack_slack values past them, and reads up to
/// over_read_bytes past the block.
inline void decode_impacts(const std::uint32_t* block, unsigned width, unsigned n, std::uint32_t* out) {
  kernels().unpack(block, 0, width, n, out);
}

/// The impact of posting `place` of a block. Reads at most 7 bytes past the block.
inline std::uint32_t impact_at(const std::uint32_t* block, unsigned width, unsigned place) {
  return unpack_one(block, std::uint64_t{place} * width, width);
}

// Exceptions of a run: values with more bits than their slots. Codecs store the gaps between their positions, and
// their high parts minus one; kernels take the high part minus one at each value's index.

/// The addend of an exception to the low part in its slot. `high` is its high part minus one.
constexpr std::uint32_t patch_of(std::uint32_t high, unsigned width) {
  return static_cast<std::uint32_t>((std::uint64_t{high} + 1) << width);
}

/// Narrow values are below this: they stay positive as signed 16-bit numbers, even after adding 1.
inline constexpr std::uint32_t narrow_values = 0x7fff;

/// Marks a value without a high part. Used as a high part minus one, it adds nothing to the value.
template <class High>
inline constexpr High no_high = static_cast<High>(~High{0});

/// The greatest high part minus one, for slots of `width` bits (at most 13), of a value that plus one fits in 15 bits.
constexpr std::uint32_t greatest_short_high(unsigned width) { return (0x7fffu >> width) - 2; }

/// Exceptions handled per step, even if fewer are left: a branch for each would cost more.
inline constexpr unsigned exceptions_at_a_time = 8;

/// Space for `size` values of an exception stream, plus what PlacedHighs::place() reads before them.
template <class Value, std::size_t size>
class ExceptionValues {
 public:
  ExceptionValues() { std::fill_n(all_.data() + lead - exceptions_at_a_time, exceptions_at_a_time, Value{0}); }
  Value* data() { return all_.data() + lead; }
  const Value* data() const { return all_.data() + lead; }

 private:
  static constexpr std::size_t lead = 64 / sizeof(Value);
  alignas(64) std::array<Value, lead + size> all_;
};

/// The high parts minus one of the n values of a run.
template <class High>
class PlacedHighs {
 public:
  /// Places `count` exceptions from arrays held by ExceptionValues. Returns false if a position is not below n, which
  /// is at most max_block_size.
  bool place(const High* gaps, const High* highs, unsigned count, unsigned n) {
    constexpr int step = exceptions_at_a_time;
    for (unsigned i = 0; i < n; i += 32) std::memset(all_.data() + lead + i, 0xff, 32 * sizeof(High));  // no_high
    // Starts with padding zeros before the first gap, so that the last step is full. They go to positions before 0.
    std::int64_t e = -static_cast<int>(-count % step), sum = 0;  // the sum of gaps: the positions less e
    for (High* to = all_.data() + lead + e; e < std::int64_t{count}; e += step, to += step) {
      // A local prefix sum, so that the next step doesn't wait for it.
      std::array<std::int64_t, step> sums{gaps[e]};
      for (int j = 1; j < step; ++j) sums[j] = sums[j - 1] + gaps[e + j];
      if (sum + sums[step - 1] + e + step > n) return false;  // the last position is the greatest
      for (int j = 0; j < step; ++j) to[sum + sums[j] + j] = highs[e + j];
      sum += sums[step - 1];
    }
    return true;
  }

  /// Write access for kernels.
  High* data() { return all_.data() + lead; }
  const High* data() const { return all_.data() + lead; }

 private:
  static constexpr std::size_t lead = 64 / sizeof(High);
  alignas(64) std::array<High, lead + max_block_size> all_;
};

}  // namespace quern
