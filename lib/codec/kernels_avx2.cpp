#include "quern/codec/kernels.hpp"

#if defined(__AVX2__)

#include <immintrin.h>

#include <array>
#include <bit>

#include "quern/codec/bit_packing.hpp"
#include "quern/codec/kernel_parts.hpp"

namespace quern {
namespace {

/// How to cut eight values of one width out of two 16-byte loads, for each bit at which the first may begin.
struct Cut {
  alignas(32) std::array<std::uint8_t, 32> bytes;
  alignas(32) std::array<std::uint32_t, 8> shifts;
};

/// A value and the bits before it in its first byte must fit in 32 bits.
constexpr unsigned max_cut_width = 25;

constexpr auto make_cuts() {
  std::array<std::array<Cut, 8>, max_cut_width + 1> cuts{};
  for (unsigned width = 0; width <= max_cut_width; ++width)
    for (unsigned phase = 0; phase < 8; ++phase)
      for (unsigned i = 0; i < 8; ++i) {
        const unsigned half_bit = i < 4 ? phase : (phase + 4 * width) % 8;
        const unsigned bit = half_bit + (i % 4) * width;
        for (unsigned byte = 0; byte < 4; ++byte)
          cuts[width][phase].bytes[4 * i + byte] = static_cast<std::uint8_t>(bit / 8 + byte);
        cuts[width][phase].shifts[i] = bit % 8;
      }
  return cuts;
}

constexpr auto all_cuts = make_cuts();

__m256i load(const void* from) { return _mm256_loadu_si256(static_cast<const __m256i*>(from)); }
void store(__m256i values, std::uint32_t* to) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), values); }

/// Takes eight values after eight out of a run.
class Cutter {
 public:
  Cutter(const std::uint32_t* words, std::uint64_t bit, unsigned width)
      : from_(reinterpret_cast<const char*>(words) + bit / 8), step_(width), half_((bit % 8 + 4 * width) / 8) {
    const Cut& cut = all_cuts[width][bit % 8];
    bytes_ = load(cut.bytes.data());
    shifts_ = load(cut.shifts.data());
    mask_ = _mm256_set1_epi32(static_cast<int>(low_mask(width)));
  }

  __m256i next() {
    const __m128i low = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from_));
    const __m128i high = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from_ + half_));
    from_ += step_;
    const __m256i raw = _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
    return _mm256_and_si256(_mm256_srlv_epi32(_mm256_shuffle_epi8(raw, bytes_), shifts_), mask_);
  }

 private:
  const char* from_;
  std::size_t step_, half_;
  __m256i bytes_, shifts_, mask_;
};

/// Sums values up from lane to lane.
__m256i sum_lanes(__m256i values) {
  const __m256i low_half_end = _mm256_setr_epi32(0, 0, 0, 0, 3, 3, 3, 3);
  __m256i sum = _mm256_add_epi32(values, _mm256_slli_si256(values, 4));
  sum = _mm256_add_epi32(sum, _mm256_slli_si256(sum, 8));
  // The sums of the lower four lanes go to the upper four too.
  const __m256i lower = _mm256_permutevar8x32_epi32(sum, low_half_end);
  return _mm256_add_epi32(sum, _mm256_blend_epi32(_mm256_setzero_si256(), lower, 0xf0));
}

template <bool patched, bool add_one>
void unpack(const std::uint32_t* words, std::uint64_t bit, unsigned width, unsigned n, std::uint32_t* out) {
  if (width > max_cut_width) {
    const Kernels& wide = portable_kernels;
    return (patched ? wide.unpack_freqs_patched : add_one ? wide.unpack_freqs : wide.unpack)(words, bit, width, n, out);
  }
  const __m256i one = _mm256_set1_epi32(1);
  Cutter cutter(words, bit, width);
  for (unsigned i = 0; i < n; i += 8) {
    __m256i values = cutter.next();
    if (patched) values = _mm256_add_epi32(values, load(out + i));
    if (add_one) values = _mm256_add_epi32(values, one);
    store(values, out + i);
  }
}

template <bool patched>
void unpack_docids(const std::uint32_t* words, std::uint64_t bit, unsigned width, unsigned n, std::uint32_t before,
                   std::uint32_t* out) {
  if (width > max_cut_width) {
    const Kernels& wide = portable_kernels;
    return (patched ? wide.unpack_docids_patched : wide.unpack_docids)(words, bit, width, n, before, out);
  }
  const __m256i one = _mm256_set1_epi32(1), last_lane = _mm256_set1_epi32(7);
  __m256i carry = _mm256_set1_epi32(static_cast<int>(before));
  Cutter cutter(words, bit, width);
  for (unsigned i = 0; i < n; i += 8) {
    __m256i gaps = _mm256_add_epi32(cutter.next(), one);
    if (patched) gaps = _mm256_add_epi32(gaps, load(out + i));
    const __m256i sums = sum_lanes(gaps);
    store(_mm256_add_epi32(sums, carry), out + i);
    carry = _mm256_add_epi32(carry, _mm256_permutevar8x32_epi32(sums, last_lane));
  }
}

bool place_patches(const std::uint32_t* gaps, const std::uint32_t* highs, unsigned count, unsigned width, unsigned n,
                   std::uint32_t* out) {
  for (unsigned i = 0; i < n; i += 8) store(_mm256_setzero_si256(), out + i);
  const __m256i one = _mm256_set1_epi32(1), last_lane = _mm256_set1_epi32(7);
  // Places past the count go to out[n], which is nobody's.
  const __m256i nowhere = _mm256_set1_epi32(static_cast<int>(n));
  __m256i places = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  const __m256i end = _mm256_set1_epi32(static_cast<int>(count));
  __m256i before = _mm256_set1_epi32(-1), greatest = _mm256_setzero_si256();
  alignas(32) std::array<std::uint32_t, 8> to, patches;
  for (unsigned i = 0; i < count; i += 8) {
    const __m256i used = _mm256_cmpgt_epi32(end, places);
    const __m256i gap = _mm256_and_si256(load(gaps + i), used);
    const __m256i sums = _mm256_add_epi32(sum_lanes(_mm256_add_epi32(gap, one)), before);
    before = _mm256_permutevar8x32_epi32(sums, last_lane);
    // Sums can't overflow unless a gap reaches n itself.
    greatest = _mm256_max_epu32(greatest, _mm256_max_epu32(gap, _mm256_and_si256(sums, used)));
    store(_mm256_min_epu32(_mm256_blendv_epi8(nowhere, sums, used), nowhere), to.data());
    store(_mm256_sll_epi32(_mm256_add_epi32(load(highs + i), one), _mm_cvtsi32_si128(static_cast<int>(width))),
          patches.data());
    for (unsigned j = 0; j < 8; ++j) out[to[j]] = patches[j];
    places = _mm256_add_epi32(places, _mm256_set1_epi32(8));
  }
  const __m256i within = _mm256_cmpeq_epi32(_mm256_min_epu32(greatest, _mm256_sub_epi32(nowhere, one)), greatest);
  return _mm256_movemask_epi8(within) == -1;
}

/// Cuts 32 values out of a word, even if it holds fewer, to avoid a branch on their number.
void cut_word(std::uint32_t word, unsigned way, std::uint32_t* out) {
  const __m256i all = _mm256_set1_epi32(static_cast<int>(word));
  const std::uint32_t *shifts = simple16::cuts.shifts[way].data(), *masks = simple16::cuts.masks[way].data();
  for (unsigned i = 0; i < 32; i += 8)
    store(_mm256_and_si256(_mm256_srlv_epi32(all, load(shifts + i)), load(masks + i)), out + i);
}

std::size_t simple16_words(const std::uint32_t* words, std::size_t size, unsigned count, std::uint32_t* out) {
  std::size_t used = 0;
  unsigned i = 0;
  for (std::size_t first = 0; i < count; first += simple16::words_at_a_time) {
    if (first >= size) return size + 1;
    for (unsigned j = 0; j < simple16::words_at_a_time; ++j) {
      const std::uint32_t word = words[first + j];
      used += i < count ? 1 : 0;
      cut_word(word, word >> 28, out + i);
      i += simple16::counts[word >> 28];
    }
  }
  return used;
}

/// For each byte: where its ones stand.
constexpr auto make_places() {
  std::array<std::array<std::uint8_t, 8>, 256> places{};
  for (unsigned byte = 0; byte < 256; ++byte) {
    unsigned count = 0;
    for (std::uint8_t bit = 0; bit < 8; ++bit)
      if (byte >> bit & 1) places[byte][count++] = bit;
  }
  return places;
}

constexpr auto places_of_ones = make_places();

unsigned list_ones(std::uint64_t word, std::uint32_t base, std::uint32_t* positions) {
  unsigned count = 0;
  for (unsigned i = 0; i < 8; ++i, word >>= 8, base += 8) {
    const unsigned byte = word & 0xff;
    const __m128i places = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(places_of_ones[byte].data()));
    store(_mm256_add_epi32(_mm256_cvtepu8_epi32(places), _mm256_set1_epi32(static_cast<int>(base))), positions + count);
    count += static_cast<unsigned>(std::popcount(byte));
  }
  return count;
}

}  // namespace

const Kernels avx2_kernels = {unpack<false, false>, unpack<false, true>,          unpack<true, true>,
                              unpack_docids<false>, unpack_docids<true>,          place_patches,
                              simple16_words,       search_terminators<list_ones>};

}  // namespace quern

#endif
