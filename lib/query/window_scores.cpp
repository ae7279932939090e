#include "quern/query/window_scores.hpp"

#if defined(__AVX2__)
#include <immintrin.h>

#include <bit>
#endif

namespace quern {

void WindowScores::take_above(float least, docid_t begin, docid_t end, std::vector<ScoredDocument>& found) {
  found.clear();
  const docid_t size = end - begin;
  docid_t i = 0;
#if defined(__AVX2__)
  // Sixteen at a time: few pass, so one branch for all of them is rarely taken.
  const __m256 limit = _mm256_set1_ps(least), zero = _mm256_setzero_ps();
  for (; i + 16 <= size; i += 16) {
    float* at = scores_.data() + i;
    const __m256 low = _mm256_loadu_ps(at), high = _mm256_loadu_ps(at + 8);
    const auto low_above = static_cast<unsigned>(_mm256_movemask_ps(_mm256_cmp_ps(low, limit, _CMP_GT_OQ)));
    const auto high_above = static_cast<unsigned>(_mm256_movemask_ps(_mm256_cmp_ps(high, limit, _CMP_GT_OQ)));
    for (unsigned above = low_above | high_above << 8; above != 0; above &= above - 1) {
      const auto place = static_cast<unsigned>(std::countr_zero(above));
      found.push_back({begin + i + place, at[place]});
    }
    _mm256_storeu_ps(at, zero);
    _mm256_storeu_ps(at + 8, zero);
  }
#endif
  for (; i < size; ++i) {
    if (scores_[i] > least) found.push_back({begin + i, scores_[i]});
    scores_[i] = 0;
  }
}

}  // namespace quern
