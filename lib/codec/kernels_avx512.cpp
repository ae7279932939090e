#include "quern/codec/kernels.hpp"

#if defined(__AVX2__)

#include <immintrin.h>

#include <array>

#include "quern/codec/bit_packing.hpp"
#include "quern/codec/kernel_parts.hpp"

/// The kernels of kernels_avx2.cpp with registers twice as wide. They repeat its structure on purpose: the instructions
/// differ, and code shared by template would be compiled for one level only.
/// All functions except those that make tables are compiled for processors that may not be the one this runs on.
#define QUERN_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi")))

namespace quern {
namespace {

/// How to cut 16 values of one width out of a 64-byte load, for each bit at which the first may begin.
struct Cut {
  alignas(64) std::array<std::uint8_t, 64> bytes;
  alignas(64) std::array<std::uint32_t, 16> shifts;
};

/// A value and the bits before it in its first byte must fit in 32 bits.
constexpr unsigned max_cut_width = 25;

constexpr auto make_cuts() {
  std::array<std::array<Cut, 8>, max_cut_width + 1> cuts{};
  for (unsigned width = 0; width <= max_cut_width; ++width)
    for (unsigned phase = 0; phase < 8; ++phase)
      for (unsigned i = 0; i < 16; ++i) {
        const unsigned bit = phase + i * width;
        for (unsigned byte = 0; byte < 4; ++byte)
          cuts[width][phase].bytes[4 * i + byte] = static_cast<std::uint8_t>(bit / 8 + byte);
        cuts[width][phase].shifts[i] = bit % 8;
      }
  return cuts;
}

constexpr auto all_cuts = make_cuts();

QUERN_AVX512 __m512i load(const void* from) { return _mm512_loadu_si512(from); }

/// Takes 16 values after 16 out of a run.
class Cutter {
 public:
  QUERN_AVX512 Cutter(const std::uint32_t* words, std::uint64_t bit, unsigned width)
      : from_(reinterpret_cast<const char*>(words) + bit / 8), step_(2 * width) {
    const Cut& cut = all_cuts[width][bit % 8];
    bytes_ = load(cut.bytes.data());
    shifts_ = load(cut.shifts.data());
    mask_ = _mm512_set1_epi32(static_cast<int>(low_mask(width)));
  }

  QUERN_AVX512 __m512i next() {
    const __m512i raw = _mm512_maskz_permutexvar_epi8(~__mmask64{0}, bytes_, load(from_));
    from_ += step_;
    return _mm512_and_si512(_mm512_maskz_srlv_epi32(0xffff, raw, shifts_), mask_);
  }

 private:
  const char* from_;
  std::size_t step_;
  __m512i bytes_, shifts_, mask_;
};

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

template <bool patched, bool add_one>
QUERN_AVX512 void unpack(const std::uint32_t* words, std::uint64_t bit, unsigned width, unsigned n,
                         std::uint32_t* out) {
  if (width > max_cut_width) {
    const Kernels& wide = portable_kernels;
    return (patched ? wide.unpack_freqs_patched : add_one ? wide.unpack_freqs : wide.unpack)(words, bit, width, n, out);
  }
  const __m512i one = _mm512_set1_epi32(1);
  Cutter cutter(words, bit, width);
  for (unsigned i = 0; i < n; i += 16) {
    __m512i values = cutter.next();
    if (patched) values = _mm512_add_epi32(values, load(out + i));
    if (add_one) values = _mm512_add_epi32(values, one);
    _mm512_storeu_si512(out + i, values);
  }
}

template <bool patched>
QUERN_AVX512 void unpack_docids(const std::uint32_t* words, std::uint64_t bit, unsigned width, unsigned n,
                                std::uint32_t before, std::uint32_t* out) {
  if (width > max_cut_width) {
    const Kernels& wide = portable_kernels;
    return (patched ? wide.unpack_docids_patched : wide.unpack_docids)(words, bit, width, n, before, out);
  }
  const __m512i one = _mm512_set1_epi32(1), last_lane = _mm512_set1_epi32(15);
  __m512i carry = _mm512_set1_epi32(static_cast<int>(before));
  Cutter cutter(words, bit, width);
  for (unsigned i = 0; i < n; i += 16) {
    __m512i sums = _mm512_add_epi32(cutter.next(), one);
    if (patched) sums = _mm512_add_epi32(sums, load(out + i));
    sums = sum_lanes(sums);
    _mm512_storeu_si512(out + i, _mm512_add_epi32(sums, carry));
    carry = _mm512_add_epi32(carry, _mm512_maskz_permutexvar_epi32(0xffff, last_lane, sums));
  }
}

/// Cuts 32 values out of a word, even if it holds fewer, to avoid a branch on their number.
QUERN_AVX512 void cut_word(std::uint32_t word, unsigned way, std::uint32_t* out) {
  const __m512i all = _mm512_set1_epi32(static_cast<int>(word));
  const std::uint32_t *shifts = simple16::cuts.shifts[way].data(), *masks = simple16::cuts.masks[way].data();
  for (unsigned i = 0; i < 32; i += 16)
    _mm512_storeu_si512(out + i,
                        _mm512_and_si512(_mm512_maskz_srlv_epi32(0xffff, all, load(shifts + i)), load(masks + i)));
}

QUERN_AVX512 std::size_t simple16_words(const std::uint32_t* words, std::size_t size, unsigned count,
                                        std::uint32_t* out) {
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

/// Exceptions are few, and terminators come in bytes: wider registers don't help.
bool place_patches(const std::uint32_t* gaps, const std::uint32_t* highs, unsigned count, unsigned width, unsigned n,
                   std::uint32_t* out) {
  return avx2_kernels.place_patches(gaps, highs, count, width, n, out);
}

bool find_terminators(const std::uint32_t* words, std::uint64_t bit, std::uint64_t bits, unsigned n,
                      std::uint32_t* positions) {
  return avx2_kernels.find_terminators(words, bit, bits, n, positions);
}

}  // namespace

const Kernels avx512_kernels = {unpack<false, false>, unpack<false, true>, unpack<true, true>, unpack_docids<false>,
                                unpack_docids<true>,  place_patches,       simple16_words,     find_terminators};

}  // namespace quern

#endif
