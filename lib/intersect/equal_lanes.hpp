#pragma once
#include <cstdint>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace quern {

inline constexpr unsigned compared_lanes = 16;

/// Whether one of the compared_lanes values is `wanted`.
inline bool any_lane_is(const std::uint32_t* values, std::uint32_t wanted) {
#if defined(__AVX2__)
  const __m256i all = _mm256_set1_epi32(static_cast<int>(wanted));
  const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(values));
  const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(values + 8));
  const __m256i equal = _mm256_or_si256(_mm256_cmpeq_epi32(low, all), _mm256_cmpeq_epi32(high, all));
  return _mm256_testz_si256(equal, equal) == 0;
#else
  bool found = false;
  for (unsigned i = 0; i < compared_lanes; ++i) found |= values[i] == wanted;
  return found;
#endif
}

}  // namespace quern
