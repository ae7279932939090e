#pragma once
#include <cstdint>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

/// Comparisons of 32 bytes at once, which encoders make over bit widths.
namespace quern {

/// Bit i is set where bytes[i] > limit, i < 32.
inline std::uint32_t lanes_above(const std::uint8_t* bytes, std::uint8_t limit) {
#if defined(__AVX2__)
  const __m256i lanes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes));
  const __m256i over = _mm256_subs_epu8(lanes, _mm256_set1_epi8(static_cast<char>(limit)));
  return ~static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(over, _mm256_setzero_si256())));
#else
  std::uint32_t above = 0;
  for (unsigned i = 0; i < 32; ++i) above |= (bytes[i] > limit ? 1u : 0u) << i;
  return above;
#endif
}

/// Whether bytes[i] <= limits[i] for all i < 32.
inline bool lanes_within(const std::uint8_t* bytes, const std::uint8_t* limits) {
#if defined(__AVX2__)
  const __m256i over = _mm256_subs_epu8(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes)),
                                        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(limits)));
  return _mm256_testz_si256(over, over) != 0;
#else
  unsigned over = 0;
  for (unsigned i = 0; i < 32; ++i) over |= bytes[i] > limits[i] ? 1u : 0u;
  return over == 0;
#endif
}

}  // namespace quern
