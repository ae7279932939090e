#include "quern/codec/bit_packing.hpp"

#include <array>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace quern {
namespace {

/// Packs groups of so many values that a group and a started byte fit in 64 bits: one store a group.
template <unsigned group>
void pack_groups(const std::uint32_t* values, unsigned n, unsigned width, BitAppender to) {
  const std::uint32_t mask = low_mask(width);
  unsigned i = 0;
  for (; i + group <= n; i += group) {
    std::uint64_t bits = 0;
    for (unsigned j = 0; j < group; ++j) bits |= std::uint64_t{values[i + j] & mask} << (j * width);
    to.append(bits, group * width);
  }
  for (; i < n; ++i) to.append(values[i] & mask, width);
}

#if defined(__AVX2__)

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

void unpack_narrow(const char* from, unsigned phase, unsigned width, unsigned n, std::uint32_t* out) {
  const Cut& cut = all_cuts[width][phase];
  const __m256i bytes = _mm256_load_si256(reinterpret_cast<const __m256i*>(cut.bytes.data()));
  const __m256i shifts = _mm256_load_si256(reinterpret_cast<const __m256i*>(cut.shifts.data()));
  const __m256i mask = _mm256_set1_epi32(static_cast<int>(low_mask(width)));
  const std::size_t half = (phase + 4 * width) / 8;
  for (unsigned i = 0; i < n; i += 8, from += width) {
    const __m128i low = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    const __m128i high = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + half));
    const __m256i raw = _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
    const __m256i values = _mm256_and_si256(_mm256_srlv_epi32(_mm256_shuffle_epi8(raw, bytes), shifts), mask);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), values);
  }
}

#endif

}  // namespace

void pack(const std::uint32_t* values, unsigned n, unsigned width, std::uint32_t* words, std::uint64_t bit_offset) {
  if (width == 0 || n == 0) return;
  const BitAppender to(words, bit_offset);
  if (width <= 14)
    pack_groups<4>(values, n, width, to);
  else if (width <= 28)
    pack_groups<2>(values, n, width, to);
  else
    pack_groups<1>(values, n, width, to);
}

void portable::unpack(const std::uint32_t* words, std::uint64_t bit_offset, unsigned width, unsigned n,
                      std::uint32_t* out) {
  if (width == 0) {
    std::memset(out, 0, n * sizeof *out);
    return;
  }
  for (unsigned i = 0; i < n; ++i, bit_offset += width) out[i] = unpack_one(words, bit_offset, width);
}

void portable::sum_gaps(std::uint32_t* values, unsigned n, std::uint32_t before) {
  for (unsigned i = 0; i < n; ++i) values[i] = before += values[i] + 1;
}

#if defined(__AVX2__)

void unpack(const std::uint32_t* words, std::uint64_t bit_offset, unsigned width, unsigned n, std::uint32_t* out) {
  if (width == 0 || width > max_cut_width) return portable::unpack(words, bit_offset, width, n, out);
  unpack_narrow(reinterpret_cast<const char*>(words) + bit_offset / 8, bit_offset % 8, width, n, out);
}

void sum_gaps(std::uint32_t* values, unsigned n, std::uint32_t before) {
  const __m256i one = _mm256_set1_epi32(1), last_lane = _mm256_set1_epi32(7);
  const __m256i low_half_end = _mm256_setr_epi32(0, 0, 0, 0, 3, 3, 3, 3);
  __m256i carry = _mm256_set1_epi32(static_cast<int>(before));
  for (unsigned i = 0; i < n; i += 8) {
    __m256i* const at = reinterpret_cast<__m256i*>(values + i);
    __m256i sum = _mm256_add_epi32(_mm256_loadu_si256(at), one);
    sum = _mm256_add_epi32(sum, _mm256_slli_si256(sum, 4));
    sum = _mm256_add_epi32(sum, _mm256_slli_si256(sum, 8));
    // The sums of the lower four lanes go to the upper four too.
    const __m256i lower = _mm256_permutevar8x32_epi32(sum, low_half_end);
    sum = _mm256_add_epi32(sum, _mm256_blend_epi32(_mm256_setzero_si256(), lower, 0xf0));
    const __m256i docids = _mm256_add_epi32(sum, carry);
    carry = _mm256_add_epi32(carry, _mm256_permutevar8x32_epi32(sum, last_lane));
    _mm256_storeu_si256(at, docids);
  }
}

#else

void unpack(const std::uint32_t* words, std::uint64_t bit_offset, unsigned width, unsigned n, std::uint32_t* out) {
  portable::unpack(words, bit_offset, width, n, out);
}

void sum_gaps(std::uint32_t* values, unsigned n, std::uint32_t before) { portable::sum_gaps(values, n, before); }

#endif

void add_to_all(std::uint32_t* values, unsigned n, std::uint32_t addend) {
  for (unsigned i = 0; i < n; i += 8)
    for (unsigned j = 0; j < 8; ++j) values[i + j] += addend;
}

}  // namespace quern
