#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace quern {

/// Where the first byte of `text`, from `from` on, lies that is one of `wanted`; the size of `text` if there is none.
template <char... wanted>
std::size_t find_any_of(std::string_view text, std::size_t from) {
  std::size_t at = from;
#if defined(__AVX2__)
  constexpr std::size_t block_bytes = 32;
  for (; at + block_bytes <= text.size(); at += block_bytes) {
    const __m256i block = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(text.data() + at));
    __m256i found = _mm256_setzero_si256();
    ((found = _mm256_or_si256(found, _mm256_cmpeq_epi8(block, _mm256_set1_epi8(wanted)))), ...);
    const auto bits = static_cast<std::uint32_t>(_mm256_movemask_epi8(found));
    if (bits != 0) return at + static_cast<std::size_t>(std::countr_zero(bits));
  }
#endif
  while (at < text.size() && ((text[at] != wanted) && ...)) ++at;
  return at;
}

}  // namespace quern
