#include "quern/codec/kernels.hpp"

#if defined(__AVX2__)

#include <immintrin.h>

#include <bit>

#include "quern/codec/newpfd.hpp"

namespace quern {
namespace {

__m256i load(const void* from) { return _mm256_loadu_si256(static_cast<const __m256i*>(from)); }
void store(__m256i values, std::uint32_t* to) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), values); }

__m256i load_halves(const char* low, const char* high) {
  const __m128i first = _mm_loadu_si128(reinterpret_cast<const __m128i*>(low));
  return _mm256_inserti128_si256(_mm256_castsi128_si256(first), _mm_loadu_si128(reinterpret_cast<const __m128i*>(high)),
                                 1);
}

/// How to extract values of one width from two 16-byte loads, for each possible bit offset of the first value: select
/// bytes to lanes, then shift 32-bit lanes right, or multiply 16-bit lanes to shift them left.
template <class Lane>
struct Cut {
  alignas(32) std::array<std::uint8_t, 32> bytes;
  alignas(32) std::array<Lane, 32 / sizeof(Lane)> shifts;
};

/// Maximum width of values extracted to 32 bits: a value and the bits before it in its first byte must fit in 32 bits.
constexpr unsigned max_cut_width = 25;
/// Maximum width of values extracted to 16 bits.
constexpr unsigned max_short_width = 9;

template <class Lane, unsigned max_width>
constexpr auto make_cuts() {
  constexpr unsigned in_half = 16 / sizeof(Lane);
  std::array<std::array<Cut<Lane>, 8>, max_width + 1> cuts{};
  for (unsigned width = 0; width <= max_width; ++width)
    for (unsigned phase = 0; phase < 8; ++phase)
      for (unsigned i = 0; i < 2 * in_half; ++i) {
        const unsigned half_bit = i < in_half ? phase : (phase + in_half * width) % 8;
        const unsigned bit = half_bit + i % in_half * width;
        Cut<Lane>& cut = cuts[width][phase];
        for (unsigned byte = 0; byte < sizeof(Lane); ++byte)
          cut.bytes[sizeof(Lane) * i + byte] = static_cast<std::uint8_t>(bit / 8 + byte);
        cut.shifts[i] = static_cast<Lane>(sizeof(Lane) == 4 ? bit % 8 : 1u << (16 - width - bit % 8));
      }
  return cuts;
}

constexpr auto all_cuts = make_cuts<std::uint32_t, max_cut_width>();
constexpr auto short_cuts = make_cuts<std::uint16_t, max_short_width>();

/// Extracts the next eight values of a run, to 32 bits each.
class Cutter {
 public:
  Cutter(const std::uint32_t* words, std::uint64_t bit, unsigned width)
      : from_(reinterpret_cast<const char*>(words) + bit / 8), step_(width), half_((bit % 8 + 4 * width) / 8) {
    const auto& cut = all_cuts[width][bit % 8];
    bytes_ = load(cut.bytes.data());
    shifts_ = load(cut.shifts.data());
    mask_ = _mm256_set1_epi32(static_cast<int>(low_mask(width)));
  }

  __m256i next() {
    const __m256i raw = load_halves(from_, from_ + half_);
    from_ += step_;
    return _mm256_and_si256(_mm256_srlv_epi32(_mm256_shuffle_epi8(raw, bytes_), shifts_), mask_);
  }

 private:
  const char* from_;
  std::size_t step_, half_;
  __m256i bytes_, shifts_, mask_;
};

/// Extracts the next 16 values of a run, to 16 bits each.
class ShortCutter {
 public:
  ShortCutter(const std::uint32_t* words, std::uint64_t bit, unsigned width)
      : from_(reinterpret_cast<const char*>(words) + bit / 8), step_(2 * width), half_((bit % 8 + 8 * width) / 8) {
    const auto& cut = short_cuts[width][bit % 8];
    bytes_ = load(cut.bytes.data());
    factors_ = load(cut.shifts.data());
    free_bits_ = _mm_cvtsi32_si128(static_cast<int>(16 - width));
  }

  __m256i next() {
    const __m256i raw = load_halves(from_, from_ + half_);
    from_ += step_;
    // The left shift drops the bits above a value, the right shift those below.
    return _mm256_srl_epi16(_mm256_mullo_epi16(_mm256_shuffle_epi8(raw, bytes_), factors_), free_bits_);
  }

 private:
  const char* from_;
  std::size_t step_, half_;
  __m256i bytes_, factors_;
  __m128i free_bits_;
};

/// Prefix sums over the lanes.
__m256i sum_lanes(__m256i values) {
  const __m256i low_half_end = _mm256_setr_epi32(0, 0, 0, 0, 3, 3, 3, 3);
  __m256i sum = _mm256_add_epi32(values, _mm256_slli_si256(values, 4));
  sum = _mm256_add_epi32(sum, _mm256_slli_si256(sum, 8));
  // Adds the sum of the lower four lanes to the upper four.
  const __m256i lower = _mm256_permutevar8x32_epi32(sum, low_half_end);
  return _mm256_add_epi32(sum, _mm256_blend_epi32(_mm256_setzero_si256(), lower, 0xf0));
}

/// The high parts minus one of values i to i + 7, in 32 bits.
__m256i highs_at(const std::uint16_t* highs, unsigned i) {
  return _mm256_cvtepi16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(highs + i)));
}
__m256i highs_at(const std::uint32_t* highs, unsigned i) { return load(highs + i); }

/// Turns them into addends; no_high gives 0.
__m256i patches_of(__m256i highs, __m128i width) {
  return _mm256_sll_epi32(_mm256_add_epi32(highs, _mm256_set1_epi32(1)), width);
}

/// Adds 1 and the addends of narrow high parts minus one to 16 16-bit values, modulo 2^16.
__m256i patch_short(__m256i values, __m256i highs, __m128i width) {
  const __m256i one = _mm256_set1_epi16(1), patches = _mm256_sll_epi16(_mm256_add_epi16(highs, one), width);
  return _mm256_add_epi16(_mm256_add_epi16(values, patches), one);
}

/// Whether any of 16 high parts minus one is above the limit.
bool is_above(__m256i highs, std::uint32_t limit) {
  return _mm256_movemask_epi8(_mm256_cmpgt_epi16(highs, _mm256_set1_epi16(static_cast<short>(limit)))) != 0;
}

template <int addend>
void unpack(const std::uint32_t* words, std::uint64_t bit, unsigned width, unsigned n, std::uint32_t* out) {
  if (width > max_cut_width) {
    const Kernels& wide = portable_kernels;
    return (addend == 0 ? wide.unpack : wide.unpack_freqs)(words, bit, width, n, out);
  }
  Cutter cutter(words, bit, width);
  for (unsigned i = 0; i < n; i += 8) store(_mm256_add_epi32(cutter.next(), _mm256_set1_epi32(addend)), out + i);
}

template <class High>
void unpack_freqs_patched(const std::uint32_t* words, std::uint64_t bit, unsigned width, unsigned n, const High* highs,
                          std::uint32_t* out) {
  if (width > max_cut_width)
    return quern::unpack_freqs_patched(portable_kernels, highs)(words, bit, width, n, highs, out);
  const __m128i shift = _mm_cvtsi32_si128(static_cast<int>(width));
  Cutter cutter(words, bit, width);
  for (unsigned i = 0; i < n; i += 8) {
    const __m256i values = _mm256_add_epi32(cutter.next(), patches_of(highs_at(highs, i), shift));
    store(_mm256_add_epi32(values, _mm256_set1_epi32(1)), out + i);
  }
}

/// unpack_freqs_patched() for narrow high parts. Values of 15 bits and more are rare: it checks for them once at the
/// end, and starts over if there were any.
void unpack_freqs_narrow(const std::uint32_t* words, std::uint64_t bit, unsigned width, unsigned n,
                         const std::uint16_t* highs, std::uint32_t* out) {
  if (width > max_short_width) return unpack_freqs_patched(words, bit, width, n, highs, out);
  const __m128i shift = _mm_cvtsi32_si128(static_cast<int>(width));
  __m256i greatest = _mm256_set1_epi16(-1);
  ShortCutter cutter(words, bit, width);
  for (unsigned i = 0; i < n; i += 16) {
    const __m256i high = load(highs + i), freqs = patch_short(cutter.next(), high, shift);
    greatest = _mm256_max_epi16(greatest, high);
    store(_mm256_cvtepu16_epi32(_mm256_castsi256_si128(freqs)), out + i);
    store(_mm256_cvtepu16_epi32(_mm256_extracti128_si256(freqs, 1)), out + i + 8);
  }
  if (is_above(greatest, greatest_short_high(width))) unpack_freqs_patched(words, bit, width, n, highs, out);
}

/// Writes consecutive docIDs, 8 or 16 at a time.
class Summer {
 public:
  Summer(std::uint32_t before, std::uint32_t* out) : carry_(_mm256_set1_epi32(static_cast<int>(before))), out_(out) {}

  /// Writes 8 docIDs from their gaps.
  void add(__m256i gaps) {
    const __m256i sums = sum_lanes(gaps);
    put(_mm256_add_epi32(sums, carry_));
    carry_ = _mm256_add_epi32(carry_, last_lane(sums));
  }

  /// Writes 16 docIDs from 16-bit gaps below 2^15. Sums pairs first, which halves the number of lanes.
  void add_pairs(__m256i gaps) {
    const __m256i pairs = sum_lanes(_mm256_madd_epi16(gaps, _mm256_set1_epi16(1)));
    const __m256i odd = _mm256_add_epi32(pairs, carry_), even = _mm256_sub_epi32(odd, _mm256_srli_epi32(gaps, 16));
    carry_ = _mm256_add_epi32(carry_, last_lane(pairs));
    const __m256i low = _mm256_unpacklo_epi32(even, odd), high = _mm256_unpackhi_epi32(even, odd);
    put(_mm256_permute2x128_si256(low, high, 0x20));
    put(_mm256_permute2x128_si256(low, high, 0x31));
  }

 private:
  static __m256i last_lane(__m256i values) { return _mm256_permutevar8x32_epi32(values, _mm256_set1_epi32(7)); }
  void put(__m256i docids) {
    store(docids, out_);
    out_ += 8;
  }

  __m256i carry_;
  std::uint32_t* out_;
};

/// unpack_docids() for gaps of 0 bits.
void count_docids(unsigned n, std::uint32_t before, std::uint32_t* out) {
  const __m256i first = _mm256_setr_epi32(1, 2, 3, 4, 5, 6, 7, 8);
  __m256i docids = _mm256_add_epi32(_mm256_set1_epi32(static_cast<int>(before)), first);
  for (unsigned i = 0; i < n; i += 8) {
    store(docids, out + i);
    docids = _mm256_add_epi32(docids, _mm256_set1_epi32(8));
  }
}

void unpack_docids(const std::uint32_t* words, std::uint64_t bit, unsigned width, unsigned n, std::uint32_t before,
                   std::uint32_t* out) {
  if (width == 0) return count_docids(n, before, out);
  if (width > max_cut_width) return portable_kernels.unpack_docids(words, bit, width, n, before, out);
  Summer summer(before, out);
  if (width <= max_short_width) {
    ShortCutter cutter(words, bit, width);
    for (unsigned i = 0; i < n; i += 16) summer.add_pairs(_mm256_add_epi16(cutter.next(), _mm256_set1_epi16(1)));
  } else {
    Cutter cutter(words, bit, width);
    for (unsigned i = 0; i < n; i += 8) summer.add(_mm256_add_epi32(cutter.next(), _mm256_set1_epi32(1)));
  }
}

template <class High>
void unpack_docids_patched(const std::uint32_t* words, std::uint64_t bit, unsigned width, unsigned n,
                           std::uint32_t before, const High* highs, std::uint32_t* out) {
  if (width > max_cut_width)
    return quern::unpack_docids_patched(portable_kernels, highs)(words, bit, width, n, before, highs, out);
  const __m128i shift = _mm_cvtsi32_si128(static_cast<int>(width));
  Summer summer(before, out);
  Cutter cutter(words, bit, width);
  for (unsigned i = 0; i < n; i += 8) {
    const __m256i gaps = _mm256_add_epi32(cutter.next(), patches_of(highs_at(highs, i), shift));
    summer.add(_mm256_add_epi32(gaps, _mm256_set1_epi32(1)));
  }
}

/// unpack_docids_patched() for narrow high parts, in the manner of unpack_freqs_narrow().
void unpack_docids_narrow(const std::uint32_t* words, std::uint64_t bit, unsigned width, unsigned n,
                          std::uint32_t before, const std::uint16_t* highs, std::uint32_t* out) {
  if (width > max_short_width) return unpack_docids_patched(words, bit, width, n, before, highs, out);
  const __m128i shift = _mm_cvtsi32_si128(static_cast<int>(width));
  __m256i greatest = _mm256_set1_epi16(-1);
  Summer summer(before, out);
  ShortCutter cutter(words, bit, width);
  for (unsigned i = 0; i < n; i += 16) {
    const __m256i high = load(highs + i);
    greatest = _mm256_max_epi16(greatest, high);
    summer.add_pairs(patch_short(cutter.next(), high, shift));
  }
  if (is_above(greatest, greatest_short_high(width))) unpack_docids_patched(words, bit, width, n, before, highs, out);
}

/// For each byte, the shuffle that spreads consecutive 16-bit values to its ones; 0x80 gives zero.
constexpr auto make_spreads() {
  std::array<std::array<std::uint8_t, 16>, 256> spreads{};
  for (unsigned byte = 0; byte < 256; ++byte)
    for (unsigned bit = 0, taken = 0; bit < 8; ++bit) {
      const bool has = (byte >> bit & 1) != 0;
      spreads[byte][2 * bit] = static_cast<std::uint8_t>(has ? 2 * taken : 0x80);
      spreads[byte][2 * bit + 1] = static_cast<std::uint8_t>(has ? 2 * taken + 1 : 0x80);
      taken += has ? 1 : 0;
    }
  return spreads;
}

alignas(16) constexpr auto spreads = make_spreads();

/// The next eight values' high parts, 0 if they have none.
__m128i spread(unsigned byte, const std::uint16_t*& from) {
  const __m128i next = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  from += std::popcount(byte);
  return _mm_shuffle_epi8(next, _mm_load_si128(reinterpret_cast<const __m128i*>(spreads[byte].data())));
}
__m256i spread_16(std::uint32_t mask, const std::uint16_t*& from) {
  const __m128i low = spread(mask & 0xff, from), high = spread(mask >> 8 & 0xff, from);
  return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}

/// Calls use(i, 16 slots of 16 bits) for all slots of an array.
template <class Use>
void for_slots(const std::uint32_t* words, const HighParts::Array& array, Use use) {
  if (array.width <= max_short_width) {
    ShortCutter cutter(words, array.slots_bit, array.width);
    for (unsigned i = 0; i < array.size; i += 16) use(i, cutter.next());
    return;
  }
  Cutter cutter(words, array.slots_bit, array.width);
  for (unsigned i = 0; i < array.size; i += 16) {
    const __m256i low = cutter.next(), high = cutter.next();
    use(i, _mm256_permute4x64_epi64(_mm256_packus_epi32(low, high), 0xd8));
  }
}

/// Writes the high part minus one of each value to its position, no_high to the others, up to a multiple of 32.
void place_highs(const std::uint32_t* words, const HighParts& parts, std::uint16_t* placed) {
  HighBuffers highs;
  const __m256i one = _mm256_set1_epi16(1);
  for (unsigned index = HighParts::max_arrays; index-- > 0;) {
    const HighParts::Array& array = parts.arrays[index];
    std::uint16_t* const to = highs[index].data();
    const bool is_last = index + 1 == HighParts::max_arrays || parts.arrays[index + 1].above == 0;
    const std::uint16_t* from = is_last ? nullptr : highs[index + 1].data();
    const __m128i shift = _mm_cvtsi32_si128(static_cast<int>(array.width));
    for_slots(words, array, [&](unsigned i, __m256i slots) {
      __m256i high = _mm256_add_epi16(slots, one);
      if (!is_last)
        high = _mm256_add_epi16(high, _mm256_sll_epi16(spread_16(mask_of_32(parts.arrays[index + 1], i), from), shift));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i), high);
    });
  }
  const HighParts::Array& first = parts.arrays[0];
  const std::uint16_t* from = highs[0].data();
  for (unsigned i = 0; i < first.above; i += 32) {
    const std::uint32_t mask = mask_of_32(first, i);
    for (unsigned half = 0; half < 2; ++half)
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(placed + i + 16 * half),
                          _mm256_sub_epi16(spread_16(mask >> 16 * half, from), one));
  }
}

void unpack_freqs_with_highs(const std::uint32_t* words, std::uint64_t bit, unsigned width, unsigned n,
                             const HighParts& parts, std::uint32_t* out) {
  PlacedHighs<std::uint16_t> placed;
  place_highs(words, parts, placed.data());
  unpack_freqs_narrow(words, bit, width, n, placed.data(), out);
}

void unpack_docids_with_highs(const std::uint32_t* words, std::uint64_t bit, unsigned width, unsigned n,
                              std::uint32_t before, const HighParts& parts, std::uint32_t* out) {
  PlacedHighs<std::uint16_t> placed;
  place_highs(words, parts, placed.data());
  unpack_docids_narrow(words, bit, width, n, before, placed.data(), out);
}

/// How to extract the values of a word of Simple16 to 32 lanes, in the order in which packing to 16 bits sorts them.
struct PackedCut {
  alignas(32) std::array<std::uint32_t, 32> shifts{}, masks{};
};

constexpr auto make_packed_cuts() {
  constexpr std::array<std::uint8_t, 4> quarters = {0, 2, 1, 3};
  std::array<PackedCut, 16> cuts{};
  for (std::uint32_t number = 0; number < 16; ++number) {
    const simple16::Way way = simple16::way_of(number << 28);
    for (unsigned lane = 0; lane < 32; ++lane) {
      const unsigned i = lane / 16 * 16 + quarters[lane % 16 / 4] * 4u + lane % 4;
      if (i >= way.count) continue;
      cuts[number].shifts[lane] = way.bit_of(i);
      cuts[number].masks[lane] = low_mask(way.width_of(i));
    }
  }
  return cuts;
}

constexpr auto packed_cuts = make_packed_cuts();

/// Extracts the values of a word of Simple16, and some zeros, to 16 bits each: always 32, to avoid a branch.
void cut_word(std::uint32_t word, std::uint16_t* out) {
  const __m256i all = _mm256_set1_epi32(static_cast<int>(word));
  const PackedCut& packed = packed_cuts[word >> 28];
  const auto cut = [&](unsigned i) {
    return _mm256_and_si256(_mm256_srlv_epi32(all, load(packed.shifts.data() + i)), load(packed.masks.data() + i));
  };
  for (unsigned i = 0; i < 32; i += 16)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), _mm256_packus_epi32(cut(i), cut(i + 8)));
}

/// Whether one of these words of Simple16 holds a value that isn't narrow.
bool has_wide_word(const std::uint32_t* words, std::size_t size) {
  const __m256i first_wide = _mm256_set1_epi32(static_cast<int>(simple16::first_wide_word));
  std::uint32_t wide = 0;
  for (std::size_t i = 0; i < size; i += 8) {
    const __m256i some = load(words + i), are_wide = _mm256_cmpeq_epi32(_mm256_max_epu32(some, first_wide), some);
    const std::uint32_t used = size - i < 8 ? (1u << (size - i)) - 1 : 0xff;
    wide |= used & static_cast<std::uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(are_wide)));
  }
  return wide != 0;
}

Simple16Values simple16_values(const std::uint32_t* words, std::size_t size, unsigned count, std::uint16_t* out) {
  constexpr unsigned step = simple16::words_at_a_time;
  std::uint64_t i = 0;
  std::size_t taken = 0;
  for (; i < count; taken += step) {
    if (taken >= size) return Simple16Values::cut;
    for (unsigned j = 0; j < step; ++j) {
      const std::uint32_t word = words[taken + j];
      cut_word(word, out + i);
      i += simple16::way_of(word).count;
    }
  }
  if (i - simple16::values_past(words, size, taken) < count) return Simple16Values::cut;
  return has_wide_word(words, taken) ? Simple16Values::wide : Simple16Values::narrow;
}

/// For each byte: the positions of its zeros, and their count.
struct Zeros {
  std::array<std::array<std::uint8_t, 8>, 256> places{};
  std::array<std::uint8_t, 256> counts{};
};

constexpr Zeros make_zeros() {
  Zeros zeros;
  for (unsigned byte = 0; byte < 256; ++byte)
    for (std::uint8_t bit = 0; bit < 8; ++bit)
      if ((byte >> bit & 1) == 0) zeros.places[byte][zeros.counts[byte]++] = bit;
  return zeros;
}

constexpr Zeros zeros = make_zeros();

bool find_terminators(const std::uint32_t* words, std::uint64_t bit, std::uint32_t bits, unsigned n,
                      std::uint16_t* positions) {
  constexpr unsigned step = 32;
  const __m128i eight = _mm_set1_epi16(8);
  __m128i base = _mm_setzero_si128();
  std::uint64_t found = 0;
  for (std::uint32_t at = 0; at < bits && found < n; at += step) {
    std::uint64_t window = bits_from(words, bit + at);
    for (unsigned i = 0; i < step; i += 8, window >>= 8) {
      const unsigned byte = window & 0xff;
      const __m128i places = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(zeros.places[byte].data()));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(positions + found), _mm_add_epi16(_mm_cvtepu8_epi16(places), base));
      base = _mm_add_epi16(base, eight);
      found += zeros.counts[byte];
    }
  }
  return found >= n && positions[n - 1] < bits;
}

/// Adds eight quotients, times 2^width, to values.
void add_to(std::uint32_t* out, __m128i quotients, __m128i width) {
  store(_mm256_add_epi32(load(out), _mm256_sll_epi32(_mm256_cvtepu16_epi32(quotients), width)), out);
}

void add_quotients(const std::uint16_t* positions, unsigned width, unsigned n, std::uint32_t* out) {
  const __m128i shift = _mm_cvtsi32_si128(static_cast<int>(width)), one = _mm_set1_epi16(1);
  for (unsigned i = 0; i < n; i += 8) {
    const __m128i ends = _mm_loadu_si128(reinterpret_cast<const __m128i*>(positions + i));
    const __m128i before = _mm_loadu_si128(reinterpret_cast<const __m128i*>(positions + i - 1));
    add_to(out + i, _mm_sub_epi16(_mm_sub_epi16(ends, before), one), shift);
  }
}

void add_summed_quotients(const std::uint16_t* positions, unsigned width, unsigned n, std::uint32_t* out) {
  const __m128i shift = _mm_cvtsi32_si128(static_cast<int>(width));
  __m128i terminators = _mm_setr_epi16(0, 1, 2, 3, 4, 5, 6, 7);
  for (unsigned i = 0; i < n; i += 8) {
    const __m128i ends = _mm_loadu_si128(reinterpret_cast<const __m128i*>(positions + i));
    add_to(out + i, _mm_sub_epi16(ends, terminators), shift);
    terminators = _mm_add_epi16(terminators, _mm_set1_epi16(8));
  }
}

}  // namespace

const Kernels avx2_kernels = {unpack<0>,
                              unpack<1>,
                              unpack_freqs_narrow,
                              unpack_freqs_patched<std::uint32_t>,
                              unpack_docids,
                              unpack_docids_narrow,
                              unpack_docids_patched<std::uint32_t>,
                              unpack_freqs_with_highs,
                              unpack_docids_with_highs,
                              simple16_values,
                              find_terminators,
                              add_quotients,
                              add_summed_quotients};

}  // namespace quern

#endif
