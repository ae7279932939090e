#include "quern/codec/kernels.hpp"

#if defined(__AVX2__)

#include <bit>

#include "quern/codec/avx512_cutter.hpp"
#include "quern/codec/bit_packing.hpp"

/// The kernels of kernels_avx2.cpp with registers twice as wide. They repeat its structure on purpose: the instructions
/// differ, and code shared by templates would be compiled for one level only.
namespace quern {
namespace {

using namespace avx512;

/// Adds to each lane the one `distance` lanes before it.
template <int distance>
QUERN_AVX512 __m512i add_lane_before(__m512i values) {
  return _mm512_add_epi32(values, _mm512_maskz_alignr_epi32(0xffff, values, _mm512_setzero_si512(), 16 - distance));
}

QUERN_AVX512 __m512i sum_lanes(__m512i values) {
  values = add_lane_before<1>(values);
  values = add_lane_before<2>(values);
  values = add_lane_before<4>(values);
  return add_lane_before<8>(values);
}

QUERN_AVX512 __m512i last_lane(__m512i values) { return _mm512_maskz_permutexvar_epi32(0xffff, every(15), values); }

/// The high parts minus one of values i to i + 15, in 32 bits.
QUERN_AVX512 __m512i highs_at(const std::uint16_t* highs, unsigned i) {
  return _mm512_maskz_cvtepi16_epi32(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(highs + i)));
}
QUERN_AVX512 __m512i highs_at(const std::uint32_t* highs, unsigned i) { return load(highs + i); }

/// Turns them into addends; no_high gives 0.
QUERN_AVX512 __m512i patches_of(__m512i highs, __m128i width) {
  return _mm512_maskz_sll_epi32(0xffff, _mm512_add_epi32(highs, every(1)), width);
}

/// Adds 1 and the addends of narrow high parts minus one to 32 16-bit values, modulo 2^16.
QUERN_AVX512 __m512i patch_short(__m512i values, __m512i highs, __m128i width) {
  const __m512i patches = _mm512_maskz_sll_epi16(~__mmask32{0}, _mm512_add_epi16(highs, every_16(1)), width);
  return _mm512_add_epi16(_mm512_add_epi16(values, patches), every_16(1));
}

/// Whether any of 32 high parts minus one is above the limit.
QUERN_AVX512 bool is_above(__m512i highs, std::uint32_t limit) {
  return _mm512_cmpgt_epi16_mask(highs, every_16(limit)) != 0;
}

template <std::uint32_t addend>
QUERN_AVX512 void unpack(const std::uint32_t* words, std::uint64_t bit, unsigned width, unsigned n,
                         std::uint32_t* out) {
  if (width > max_cut_width) {
    const Kernels& wide = portable_kernels;
    return (addend == 0 ? wide.unpack : wide.unpack_freqs)(words, bit, width, n, out);
  }
  Cutter cutter(words, bit, width);
  for (unsigned i = 0; i < n; i += 16) _mm512_storeu_si512(out + i, _mm512_add_epi32(cutter.next(), every(addend)));
}

template <class High>
QUERN_AVX512 void unpack_freqs_patched(const std::uint32_t* words, std::uint64_t bit, unsigned width, unsigned n,
                                       const High* highs, std::uint32_t* out) {
  if (width > max_cut_width)
    return quern::unpack_freqs_patched(portable_kernels, highs)(words, bit, width, n, highs, out);
  const __m128i shift = _mm_cvtsi32_si128(static_cast<int>(width));
  Cutter cutter(words, bit, width);
  for (unsigned i = 0; i < n; i += 16) {
    const __m512i values = _mm512_add_epi32(cutter.next(), patches_of(highs_at(highs, i), shift));
    _mm512_storeu_si512(out + i, _mm512_add_epi32(values, every(1)));
  }
}

/// Writes 32 16-bit values, or the first 16, as 32-bit ones.
QUERN_AVX512 void put_shorts(__m512i values, std::uint32_t* out, bool second_half) {
  _mm512_storeu_si512(out, _mm512_maskz_cvtepu16_epi32(0xffff, _mm512_maskz_extracti64x4_epi64(0xf, values, 0)));
  if (!second_half) return;
  _mm512_storeu_si512(out + 16, _mm512_maskz_cvtepu16_epi32(0xffff, _mm512_maskz_extracti64x4_epi64(0xf, values, 1)));
}

/// unpack_freqs_patched() for narrow high parts. Values of 15 bits and more are rare: it checks for them once at the
/// end, and starts over if there were any.
QUERN_AVX512 void unpack_freqs_narrow(const std::uint32_t* words, std::uint64_t bit, unsigned width, unsigned n,
                                      const std::uint16_t* highs, std::uint32_t* out) {
  if (width >= max_short_width) return unpack_freqs_patched(words, bit, width, n, highs, out);
  const __m128i shift = _mm_cvtsi32_si128(static_cast<int>(width));
  __m512i greatest = every_16(no_high<std::uint16_t>);
  FineCutter cutter = short_cutter(words, bit, width);
  for (unsigned i = 0; i < n; i += 32) {
    const __m512i high = load(highs + i), freqs = patch_short(cutter.next(), high, shift);
    greatest = _mm512_max_epi16(greatest, high);
    put_shorts(freqs, out + i, i + 16 < n);
  }
  if (is_above(greatest, greatest_short_high(width))) unpack_freqs_patched(words, bit, width, n, highs, out);
}

/// Writes consecutive docIDs, 16 or 32 at a time.
class Summer {
 public:
  QUERN_AVX512 Summer(std::uint32_t before, std::uint32_t* out) : carry_(every(before)), out_(out) {}

  /// Writes 16 docIDs from their gaps.
  QUERN_AVX512 void add(__m512i gaps) {
    const __m512i sums = sum_lanes(gaps);
    put(_mm512_add_epi32(sums, carry_));
    carry_ = _mm512_add_epi32(carry_, last_lane(sums));
  }

  /// Writes 32 docIDs, or the first 16, from 16-bit gaps below 2^15. Sums pairs first, which halves the number of
  /// lanes.
  QUERN_AVX512 void add_pairs(__m512i gaps, bool second_half) {
    const __m512i pairs = sum_lanes(_mm512_maskz_madd_epi16(0xffff, gaps, every_16(1)));
    const __m512i odd = _mm512_add_epi32(pairs, carry_);
    const __m512i even = _mm512_sub_epi32(odd, _mm512_maskz_srli_epi32(0xffff, gaps, 16));
    carry_ = _mm512_add_epi32(carry_, last_lane(pairs));
    put(_mm512_permutex2var_epi32(even, load(zip.data()), odd));
    if (second_half) put(_mm512_permutex2var_epi32(even, load(zip.data() + 16), odd));
  }

 private:
  QUERN_AVX512 void put(__m512i docids) {
    _mm512_storeu_si512(out_, docids);
    out_ += 16;
  }

  __m512i carry_;
  std::uint32_t* out_;
};

/// The bytes selected by the lowest byte of each of `places`, as 32-bit lanes.
QUERN_AVX512 __m512i bytes_at(const std::array<std::uint32_t, 16>& places, __m512i bytes) {
  return _mm512_maskz_permutexvar_epi8(0x1111111111111111, load(places.data()), bytes);
}

/// Prefix sums of bytes within each group of 16.
QUERN_AVX512 __m512i sum_bytes(__m512i bytes) {
  bytes = _mm512_add_epi8(bytes, _mm512_bslli_epi128(bytes, 1));
  bytes = _mm512_add_epi8(bytes, _mm512_bslli_epi128(bytes, 2));
  bytes = _mm512_add_epi8(bytes, _mm512_bslli_epi128(bytes, 4));
  return _mm512_add_epi8(bytes, _mm512_bslli_epi128(bytes, 8));
}

/// The base of docID i: its value if all gaps were zero.
QUERN_AVX512 __m512i first_docids(std::uint32_t before) {
  return _mm512_add_epi32(every(before), _mm512_setr_epi32(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16));
}

/// unpack_docids() for widths up to max_byte_width: sums of 16 gaps fit in bytes.
QUERN_AVX512 void unpack_byte_docids(const std::uint32_t* words, std::uint64_t bit, unsigned width, unsigned n,
                                     std::uint32_t before, std::uint32_t* out) {
  __m512i carry = first_docids(before);
  FineCutter cutter = byte_cutter(words, bit, width);
  for (unsigned i = 0; i < n;) {
    const __m512i sums = sum_bytes(cutter.next());
    for (unsigned part = 0; part < 4 && i < n; ++part, i += 16) {
      _mm512_storeu_si512(out + i, _mm512_add_epi32(carry, bytes_at(spread.all[part], sums)));
      carry = _mm512_add_epi32(_mm512_add_epi32(carry, every(16)), bytes_at(spread.last[part], sums));
    }
  }
}

/// unpack_docids() for gaps of 0 bits.
QUERN_AVX512 void count_docids(unsigned n, std::uint32_t before, std::uint32_t* out) {
  __m512i docids = first_docids(before);
  for (unsigned i = 0; i < n; i += 16) {
    _mm512_storeu_si512(out + i, docids);
    docids = _mm512_add_epi32(docids, every(16));
  }
}

QUERN_AVX512 void unpack_docids(const std::uint32_t* words, std::uint64_t bit, unsigned width, unsigned n,
                                std::uint32_t before, std::uint32_t* out) {
  if (width == 0) return count_docids(n, before, out);
  if (width <= max_byte_width) return unpack_byte_docids(words, bit, width, n, before, out);
  if (width > max_cut_width) return portable_kernels.unpack_docids(words, bit, width, n, before, out);
  Summer summer(before, out);
  if (width <= max_short_width) {
    FineCutter cutter = short_cutter(words, bit, width);
    for (unsigned i = 0; i < n; i += 32) summer.add_pairs(_mm512_add_epi16(cutter.next(), every_16(1)), i + 16 < n);
  } else {
    Cutter cutter(words, bit, width);
    for (unsigned i = 0; i < n; i += 16) summer.add(_mm512_add_epi32(cutter.next(), every(1)));
  }
}

template <class High>
QUERN_AVX512 void unpack_docids_patched(const std::uint32_t* words, std::uint64_t bit, unsigned width, unsigned n,
                                        std::uint32_t before, const High* highs, std::uint32_t* out) {
  if (width > max_cut_width)
    return quern::unpack_docids_patched(portable_kernels, highs)(words, bit, width, n, before, highs, out);
  const __m128i shift = _mm_cvtsi32_si128(static_cast<int>(width));
  Summer summer(before, out);
  Cutter cutter(words, bit, width);
  for (unsigned i = 0; i < n; i += 16) {
    const __m512i gaps = _mm512_add_epi32(cutter.next(), patches_of(highs_at(highs, i), shift));
    summer.add(_mm512_add_epi32(gaps, every(1)));
  }
}

/// unpack_docids_patched() for narrow high parts, in the manner of unpack_freqs_narrow().
QUERN_AVX512 void unpack_docids_narrow(const std::uint32_t* words, std::uint64_t bit, unsigned width, unsigned n,
                                       std::uint32_t before, const std::uint16_t* highs, std::uint32_t* out) {
  if (width >= max_short_width) return unpack_docids_patched(words, bit, width, n, before, highs, out);
  const __m128i shift = _mm_cvtsi32_si128(static_cast<int>(width));
  __m512i greatest = every_16(no_high<std::uint16_t>);
  Summer summer(before, out);
  FineCutter cutter = short_cutter(words, bit, width);
  for (unsigned i = 0; i < n; i += 32) {
    const __m512i high = load(highs + i), gaps = patch_short(cutter.next(), high, shift);
    greatest = _mm512_max_epi16(greatest, high);
    summer.add_pairs(gaps, i + 16 < n);
  }
  if (is_above(greatest, greatest_short_high(width))) unpack_docids_patched(words, bit, width, n, before, highs, out);
}

/// An array's values from its slots and their high parts, which are 0 if missing.
QUERN_AVX512 __m512i high_parts(__m512i slots, __m512i below, unsigned width) {
  const __m512i shifted = _mm512_maskz_sll_epi16(~__mmask32{0}, below, _mm_cvtsi32_si128(static_cast<int>(width)));
  return _mm512_add_epi16(_mm512_add_epi16(slots, shifted), every_16(1));
}

QUERN_AVX512 FineCutter cutter_of(const std::uint32_t* words, const HighParts::Array& array) {
  return short_cutter(words, array.slots_bit, array.width);
}

/// The high parts of a run, 32 values at a time, if they are few enough to stay in registers: then no branch depends on
/// their number, which is practically random.
class FewHighs {
 public:
  static bool suffice(const HighParts& parts) { return parts.arrays[0].size <= 64 && parts.arrays[1].size <= 32; }

  QUERN_AVX512 FewHighs(const std::uint32_t* words, const HighParts& parts) : values_(parts.arrays[0]) {
    const HighParts::Array &first = parts.arrays[0], &second = parts.arrays[1], &third = parts.arrays[2];
    const __m512i zero = _mm512_setzero_si512(), thirds = high_parts(cutter_of(words, third).next(), zero, 0);
    const __m512i second_highs = _mm512_maskz_expand_epi16(mask_of_32(third, 0), thirds);
    const __m512i seconds = high_parts(cutter_of(words, second).next(), second_highs, second.width);
    FineCutter slots = cutter_of(words, first);
    const std::uint32_t mask = mask_of_32(second, 0);
    low_ = high_parts(slots.next(), _mm512_maskz_expand_epi16(mask, seconds), first.width);
    high_ = zero;
    if (first.size <= 32) return;
    const __m512i more_highs = pick(mask_of_32(second, 32), std::popcount(mask), seconds, zero);
    high_ = high_parts(slots.next(), more_highs, first.width);
  }

  /// The high parts of values i to i + 31, 0 if missing; i is a multiple of 32, and calls must be in order.
  QUERN_AVX512 __m512i next(unsigned i) {
    const std::uint32_t mask = mask_of_32(values_, i);
    const __m512i picked = pick(mask, taken_, low_, high_);
    taken_ += std::popcount(mask);
    return picked;
  }

 private:
  /// The high parts for 32 values with this mask, from two registers whose first `taken` lanes are used up.
  QUERN_AVX512 static __m512i pick(std::uint32_t mask, int taken, __m512i low, __m512i high) {
    const __m512i places = _mm512_maskz_expand_epi16(mask, load(counting.data()));
    const __m512i from = _mm512_add_epi16(places, every_16(static_cast<std::uint32_t>(taken)));
    return _mm512_maskz_permutex2var_epi16(mask, low, from, high);
  }

  const HighParts::Array& values_;
  __m512i low_, high_;
  int taken_ = 0;
};

/// The high parts of values i to i + 31, 0 if missing; advances `from` past those used.
QUERN_AVX512 __m512i spread(const HighParts::Array& array, unsigned i, const std::uint16_t*& from) {
  const std::uint32_t mask = mask_of_32(array, i);
  const __m512i next = load(from);
  from += std::popcount(mask);
  return _mm512_maskz_expand_epi16(mask, next);
}

/// Writes the high part minus one of each value to its position, no_high to the others, up to a multiple of 32.
QUERN_AVX512 void place_highs(const std::uint32_t* words, const HighParts& parts, std::uint16_t* placed) {
  HighBuffers highs;
  for (unsigned index = HighParts::max_arrays; index-- > 0;) {
    const HighParts::Array& array = parts.arrays[index];
    const bool is_last = index + 1 == HighParts::max_arrays || parts.arrays[index + 1].above == 0;
    const std::uint16_t* from = is_last ? nullptr : highs[index + 1].data();
    FineCutter cutter = cutter_of(words, array);
    for (unsigned i = 0; i < array.size; i += 32) {
      const __m512i below = is_last ? _mm512_setzero_si512() : spread(parts.arrays[index + 1], i, from);
      _mm512_storeu_si512(highs[index].data() + i, high_parts(cutter.next(), below, array.width));
    }
  }
  const HighParts::Array& first = parts.arrays[0];
  const std::uint16_t* from = highs[0].data();
  for (unsigned i = 0; i < first.above; i += 32)
    _mm512_storeu_si512(placed + i, _mm512_sub_epi16(spread(first, i, from), every_16(1)));
}

/// Writes the values of a run, plus 1, to 16 bits each, up to a multiple of 32. False if too many have high parts, or a
/// value may have more than 15 bits.
QUERN_AVX512 bool unpack_few_short(const std::uint32_t* words, std::uint64_t bit, unsigned width, unsigned n,
                                   const HighParts& parts, std::uint16_t* out) {
  if (width >= max_short_width || !FewHighs::suffice(parts)) return false;
  const __m128i shift = _mm_cvtsi32_si128(static_cast<int>(width));
  __m512i greatest = _mm512_setzero_si512();
  FewHighs highs(words, parts);
  FineCutter cutter = short_cutter(words, bit, width);
  for (unsigned i = 0; i < n; i += 32) {
    const __m512i high = highs.next(i), patches = _mm512_maskz_sll_epi16(~__mmask32{0}, high, shift);
    greatest = _mm512_max_epi16(greatest, high);
    _mm512_storeu_si512(out + i, _mm512_add_epi16(_mm512_add_epi16(cutter.next(), every_16(1)), patches));
  }
  return !is_above(greatest, greatest_short_high(width) + 1);
}

/// Space for a block's values in 16 bits.
struct ShortValues {
  alignas(64) std::array<std::uint16_t, max_block_size> all;
};

QUERN_AVX512 void unpack_freqs_with_highs(const std::uint32_t* words, std::uint64_t bit, unsigned width, unsigned n,
                                          const HighParts& parts, std::uint32_t* out) {
  ShortValues freqs;
  if (unpack_few_short(words, bit, width, n, parts, freqs.all.data())) {
    for (unsigned i = 0; i < n; i += 32) put_shorts(load(freqs.all.data() + i), out + i, i + 16 < n);
    return;
  }
  PlacedHighs<std::uint16_t> placed;
  place_highs(words, parts, placed.data());
  unpack_freqs_narrow(words, bit, width, n, placed.data(), out);
}

QUERN_AVX512 void unpack_docids_with_highs(const std::uint32_t* words, std::uint64_t bit, unsigned width, unsigned n,
                                           std::uint32_t before, const HighParts& parts, std::uint32_t* out) {
  ShortValues gaps;
  // Two loops: out-of-order execution can't overlap iterations that do both.
  if (unpack_few_short(words, bit, width, n, parts, gaps.all.data())) {
    Summer summer(before, out);
    for (unsigned i = 0; i < n; i += 32) summer.add_pairs(load(gaps.all.data() + i), i + 16 < n);
    return;
  }
  PlacedHighs<std::uint16_t> placed;
  place_highs(words, parts, placed.data());
  unpack_docids_narrow(words, bit, width, n, before, placed.data(), out);
}

/// Extracts the values of the word, and some zeros, to 16 bits each; returns how many it holds. Reads 8 bytes.
QUERN_AVX512 std::uint64_t cut_word(const std::uint32_t* word, std::uint16_t* out) {
  const WordCut& cut = word_cuts[*word >> 28];
  std::uint64_t bits;
  std::memcpy(&bits, word, sizeof bits);
  const __m512i all = _mm512_set1_epi64(static_cast<long long>(bits));
  const __m512i values = _mm512_maskz_multishift_epi64_epi8(~__mmask64{0}, load(cut.shifts.data()), all);
  _mm512_storeu_si512(out, _mm512_and_si512(values, load(cut.masks.data())));
  return cut.count;
}

/// Whether one of these words of Simple16 holds a value that isn't narrow.
QUERN_AVX512 bool has_wide_word(const std::uint32_t* words, std::size_t size) {
  std::uint32_t wide = 0;
  for (std::size_t i = 0; i < size; i += 16) {
    const std::uint32_t used = size - i < 16 ? (1u << (size - i)) - 1 : 0xffff;
    wide |= used & _mm512_cmpge_epu32_mask(load(words + i), every(simple16::first_wide_word));
  }
  return wide != 0;
}

QUERN_AVX512 Simple16Values simple16_values(const std::uint32_t* words, std::size_t size, unsigned count,
                                            std::uint16_t* out) {
  constexpr unsigned step = simple16::words_at_a_time;
  std::uint64_t i = 0;
  std::size_t taken = 0;
  for (; i < count; taken += step) {
    if (taken >= size) return Simple16Values::cut;
    for (unsigned j = 0; j < step; ++j) i += cut_word(words + taken + j, out + i);
  }
  if (i - simple16::values_past(words, size, taken) < count) return Simple16Values::cut;
  return has_wide_word(words, taken) ? Simple16Values::wide : Simple16Values::narrow;
}

QUERN_AVX512 bool find_terminators(const std::uint32_t* words, std::uint64_t bit, std::uint32_t bits, unsigned n,
                                   std::uint16_t* positions) {
  constexpr unsigned step = 32;
  __m512i places = load(counting.data());
  std::uint64_t found = 0;
  for (std::uint32_t at = 0; at < bits && found < n; at += 2 * step)
    for (unsigned i = 0; i < 2; ++i) {
      const auto terminators = static_cast<std::uint32_t>(~bits_from(words, bit + at + i * step));
      _mm512_storeu_si512(positions + found, _mm512_maskz_compress_epi16(terminators, places));
      places = _mm512_add_epi16(places, every_16(step));
      found += static_cast<unsigned>(std::popcount(terminators));
    }
  return found >= n && positions[n - 1] < bits;
}

QUERN_AVX512 __m256i load_half(const std::uint16_t* from) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}

/// Adds 16 quotients, times 2^width, to values.
QUERN_AVX512 void add_to(std::uint32_t* out, __m256i quotients, __m128i width) {
  const __m512i wide = _mm512_maskz_cvtepu16_epi32(0xffff, quotients);
  _mm512_storeu_si512(out, _mm512_add_epi32(load(out), _mm512_maskz_sll_epi32(0xffff, wide, width)));
}

QUERN_AVX512 void add_quotients(const std::uint16_t* positions, unsigned width, unsigned n, std::uint32_t* out) {
  const __m128i shift = _mm_cvtsi32_si128(static_cast<int>(width));
  for (unsigned i = 0; i < n; i += 16) {
    const __m256i distances = _mm256_sub_epi16(load_half(positions + i), load_half(positions + i - 1));
    add_to(out + i, _mm256_sub_epi16(distances, _mm256_set1_epi16(1)), shift);
  }
}

QUERN_AVX512 void add_summed_quotients(const std::uint16_t* positions, unsigned width, unsigned n, std::uint32_t* out) {
  const __m128i shift = _mm_cvtsi32_si128(static_cast<int>(width));
  __m256i terminators = load_half(counting.data());
  for (unsigned i = 0; i < n; i += 16) {
    add_to(out + i, _mm256_sub_epi16(load_half(positions + i), terminators), shift);
    terminators = _mm256_add_epi16(terminators, _mm256_set1_epi16(16));
  }
}

}  // namespace

const Kernels avx512_kernels = {unpack<0>,
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
