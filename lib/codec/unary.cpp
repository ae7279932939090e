#include "quern/codec/unary.hpp"

#include <array>
#include <bit>
#include <cstring>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace quern {
namespace {

/// Calls list_ones(word, base, positions) for each 64 bits, inverted, so that terminators are ones; it returns how
/// many it wrote.
template <class ListOnes>
bool find(const std::uint32_t* words, std::uint64_t bit_offset, std::uint64_t bits, unsigned n,
          std::uint32_t* positions, ListOnes list_ones) {
  const char* from = reinterpret_cast<const char*>(words + bit_offset / 32);
  // Positions count from bit_offset: those of the first 64 bits begin below zero.
  std::int64_t base = -static_cast<std::int64_t>(bit_offset % 32);
  std::uint64_t wanted = ~std::uint64_t{0} << bit_offset % 32;
  unsigned found = 0;
  for (; base < static_cast<std::int64_t>(bits) && found < n; base += 64, from += 8) {
    std::uint64_t word;
    std::memcpy(&word, from, sizeof word);
    const std::uint64_t terminators = ~word & wanted;
    wanted = ~std::uint64_t{0};
    if (terminators != 0) found += list_ones(terminators, static_cast<std::uint32_t>(base), positions + found);
  }
  return found >= n && positions[n - 1] < bits;
}

unsigned list_ones_portably(std::uint64_t word, std::uint32_t base, std::uint32_t* positions) {
  unsigned count = 0;
  for (; word != 0; word &= word - 1) positions[count++] = base + static_cast<std::uint32_t>(std::countr_zero(word));
  return count;
}

#if defined(__AVX2__)

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

unsigned list_ones_by_bytes(std::uint64_t word, std::uint32_t base, std::uint32_t* positions) {
  unsigned count = 0;
  for (unsigned i = 0; i < 8; ++i, word >>= 8, base += 8) {
    const unsigned byte = word & 0xff;
    const __m128i places = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(places_of_ones[byte].data()));
    const __m256i moved = _mm256_add_epi32(_mm256_cvtepu8_epi32(places), _mm256_set1_epi32(static_cast<int>(base)));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(positions + count), moved);
    count += static_cast<unsigned>(std::popcount(byte));
  }
  return count;
}

#endif

}  // namespace

bool portable::find_terminators(const std::uint32_t* words, std::uint64_t bit_offset, std::uint64_t bits, unsigned n,
                                std::uint32_t* positions) {
  return find(words, bit_offset, bits, n, positions, list_ones_portably);
}

bool find_terminators(const std::uint32_t* words, std::uint64_t bit_offset, std::uint64_t bits, unsigned n,
                      std::uint32_t* positions) {
#if defined(__AVX2__)
  return find(words, bit_offset, bits, n, positions, list_ones_by_bytes);
#else
  return find(words, bit_offset, bits, n, positions, list_ones_portably);
#endif
}

}  // namespace quern
