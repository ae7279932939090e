#include "quern/lab/streamvbyte_shuffle.hpp"

#if defined(__AVX2__)
#include <immintrin.h>

#include <array>

namespace quern {
namespace {

/// For each control byte, where the bytes of its four values come from, and how many there are.
struct Tables {
  alignas(16) std::array<std::array<std::uint8_t, 16>, 256> shuffles{};
  std::array<std::uint8_t, 256> sizes{};

  constexpr Tables() {
    for (unsigned control = 0; control < 256; ++control) {
      std::uint8_t next = 0;
      for (unsigned value = 0; value < 4; ++value) {
        const unsigned size = (control >> (2 * value) & 3) + 1;
        for (unsigned byte = 0; byte < 4; ++byte)
          shuffles[control][4 * value + byte] = byte < size ? next++ : std::uint8_t{0xff};  // 0xff gives a zero
      }
      sizes[control] = next;
    }
  }
};

constexpr Tables tables;

/// Calls take(four values, place) for each group; returns the bytes read, those of a last group that isn't whole too.
template <class Take>
std::size_t for_each_group(const std::uint8_t* bytes, std::size_t n, Take take) {
  const std::uint8_t* data = bytes + (n + 3) / 4;
  for (std::size_t at = 0; at < n; at += 4) {
    const unsigned control = bytes[at / 4];
    const __m128i coded = _mm_loadu_si128(reinterpret_cast<const __m128i*>(data));
    const __m128i shuffle = _mm_load_si128(reinterpret_cast<const __m128i*>(tables.shuffles[control].data()));
    take(_mm_shuffle_epi8(coded, shuffle), at);
    data += tables.sizes[control];
  }
  // Values that aren't there have the control bits 0, which count as a byte each.
  return static_cast<std::size_t>(data - bytes) - (4 - n % 4) % 4;
}

}  // namespace

std::size_t decode_streamvbyte(const std::uint8_t* bytes, std::size_t n, std::uint32_t* out) {
  return for_each_group(bytes, n, [out](__m128i values, std::size_t at) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + at), values);
  });
}

std::size_t decode_streamvbyte_deltas(const std::uint8_t* bytes, std::size_t n, std::uint32_t before,
                                      std::uint32_t* out) {
  __m128i last = _mm_set1_epi32(static_cast<int>(before));
  return for_each_group(bytes, n, [out, &last](__m128i values, std::size_t at) {
    values = _mm_add_epi32(values, _mm_slli_si128(values, 4));
    values = _mm_add_epi32(values, _mm_slli_si128(values, 8));
    values = _mm_add_epi32(values, last);
    last = _mm_shuffle_epi32(values, 0xff);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + at), values);
  });
}

}  // namespace quern
#endif
