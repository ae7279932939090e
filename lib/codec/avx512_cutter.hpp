#pragma once
#include <immintrin.h>

#include "quern/codec/avx512_tables.hpp"
#include "quern/codec/bit_packing.hpp"

/// All functions are compiled for processors that may differ from the one at run time.
#define QUERN_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2")))

/// How the AVX-512 kernels extract values of one width from a run of bits.
namespace quern::avx512 {

QUERN_AVX512 inline __m512i load(const void* from) { return _mm512_loadu_si512(from); }

/// Broadcasts to 16 32-bit lanes.
QUERN_AVX512 inline __m512i every(std::uint32_t value) { return _mm512_set1_epi32(static_cast<int>(value)); }

/// Broadcasts to 32 16-bit lanes.
QUERN_AVX512 inline __m512i every_16(std::uint32_t value) { return _mm512_set1_epi16(static_cast<short>(value)); }

/// Extracts the next 16 values of a run, to 32 bits each.
class Cutter {
 public:
  QUERN_AVX512 Cutter(const std::uint32_t* words, std::uint64_t bit, unsigned width)
      : from_(reinterpret_cast<const char*>(words) + bit / 8), step_(2 * width) {
    const auto& cut = all_cuts[width][bit % 8];
    bytes_ = load(cut.bytes.data());
    shifts_ = load(cut.shifts.data());
    mask_ = every(low_mask(width));
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

/// Extracts the next 32 values of a run to 16 bits each, or the next 64 to 8.
class FineCutter {
 public:
  QUERN_AVX512 FineCutter(const std::uint32_t* words, std::uint64_t bit, const Cut<std::uint8_t>& cut, __m512i mask,
                          unsigned step)
      : from_(reinterpret_cast<const char*>(words) + bit / 8), step_(step), mask_(mask) {
    bytes_ = load(cut.bytes.data());
    shifts_ = load(cut.shifts.data());
  }

  QUERN_AVX512 __m512i next() {
    const __m512i raw = _mm512_maskz_permutexvar_epi8(~__mmask64{0}, bytes_, load(from_));
    from_ += step_;
    return _mm512_and_si512(_mm512_maskz_multishift_epi64_epi8(~__mmask64{0}, shifts_, raw), mask_);
  }

 private:
  const char* from_;
  std::size_t step_;
  __m512i bytes_, shifts_, mask_;
};

QUERN_AVX512 inline FineCutter short_cutter(const std::uint32_t* words, std::uint64_t bit, unsigned width) {
  return {words, bit, short_cuts[width][bit % 8], every_16(low_mask(width)), 4 * width};
}

QUERN_AVX512 inline FineCutter byte_cutter(const std::uint32_t* words, std::uint64_t bit, unsigned width) {
  const __m512i mask = _mm512_set1_epi8(static_cast<char>(low_mask(width)));
  return {words, bit, byte_cuts[width][bit % 8], mask, 8 * width};
}

}  // namespace quern::avx512
