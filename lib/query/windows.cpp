#include "quern/query/windows.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace quern {
namespace {

/// Documents whose scores are compared together: few pass, so a single branch for all of them is rarely mispredicted.
constexpr docid_t group = 64;

/// Bit i is set if scores[i] is above `min`.
std::uint64_t mask_above(const float* scores, float min) {
  std::uint64_t mask = 0;
#if defined(__AVX2__)
  const __m256 limit = _mm256_set1_ps(min);
#pragma GCC unroll 8
  for (unsigned i = 0; i < group; i += 8) {
    const __m256 above = _mm256_cmp_ps(_mm256_loadu_ps(scores + i), limit, _CMP_GT_OQ);
    mask |= std::uint64_t{static_cast<std::uint8_t>(_mm256_movemask_ps(above))} << i;
  }
#else
  for (unsigned i = 0; i < group; ++i) mask |= std::uint64_t{scores[i] > min} << i;
#endif
  return mask;
}

void fill(float* scores, float value) {
#if defined(__AVX2__)
#pragma GCC unroll 8
  for (unsigned i = 0; i < group; i += 8) _mm256_storeu_ps(scores + i, _mm256_set1_ps(value));
#else
  std::fill_n(scores, group, value);
#endif
}

}  // namespace

void WindowScores::take_above(float min, docid_t begin, docid_t end, std::vector<ScoredDocument>& found) {
  found.clear();
  // Scores after the end are the mark, so whole groups can be read.
  for (docid_t from = 0; from < end - begin; from += group) {
    float* const scores = scores_.data() + from;
    for (std::uint64_t above = mask_above(scores, min); above != 0; above &= above - 1) {
      const auto place = static_cast<unsigned>(std::countr_zero(above));
      found.push_back({begin + from + place, scores[place]});
    }
    fill(scores, nothing_);
  }
}

}  // namespace quern
